"""The history of the ledger's schema. `HEAD` is what this code reads and writes; opening a ledger compares it with one
small query and imports alembic only when they differ."""

HEAD = "0007"
