"""The numbers that a database gives to new rows, read and carried on: SQLite's and PostgreSQL's ways."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Table, func, select, text


def _numbered(table: Table) -> Column[int] | None:
    """The column whose numbers the database gives out; None for a table whose keys are made elsewhere."""
    return table.autoincrement_column if table.name != "traces" else None


def _remembered_by_sqlite(connection: Connection, table: Table) -> bool:
    """Whether SQLite keeps the last number of the table apart from its rows."""
    return connection.dialect.name == "sqlite" and bool(table.dialect_options["sqlite"]["autoincrement"])


def given_out(connection: Connection, table: Table) -> int:
    """The last number that was ever given to a row of this table, also one that is gone; 0 for none."""
    column = _numbered(table)
    if column is None:
        return 0
    last = connection.execute(select(func.max(column))).scalar() or 0
    if _remembered_by_sqlite(connection, table):
        found = connection.execute(text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        return max(last, found.scalar() or 0)
    if connection.dialect.name == "postgresql":
        called = text(f"SELECT last_value, is_called FROM {_sequence(connection, table, column)}")  # noqa: S608
        value, counts = connection.execute(called).one()
        return max(last, int(value) if counts else 0)
    return int(last)


def give_out_after(connection: Connection, table: Table, last: int) -> None:
    """The next row of this table gets a higher number than `last`."""
    column = _numbered(table)
    if column is None or not last:
        return
    if _remembered_by_sqlite(connection, table):
        values = {"name": table.name, "last": last}
        made = connection.execute(text("UPDATE sqlite_sequence SET seq = :last WHERE name = :name"), values)
        if not made.rowcount:
            connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), values)
    elif connection.dialect.name == "postgresql":
        values = {"name": _sequence(connection, table, column), "last": last}
        connection.execute(text("SELECT setval(CAST(:name AS regclass), :last)"), values)


def _sequence(connection: Connection, table: Table, column: Column[int]) -> str:
    found = connection.execute(
        text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": table.name, "column": column.name}
    ).scalar()
    return str(found)
