"""Our own memory in SQL: sources, documents, read rules, people and the audit record.

The only room that imports sqlalchemy, sqlmodel or alembic. One schema serves SQLite and PostgreSQL; what differs
between them is in `dialect.py` alone. Nothing here reads a clock: every call that needs the time is handed it.
"""
