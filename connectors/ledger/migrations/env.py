"""Run by alembic inside the transaction that `upgrade.py` opened and holds the schema lock in."""

from __future__ import annotations

from alembic import context

from connectors.ledger.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(
    connection=connection, target_metadata=METADATA, render_as_batch=True, transaction_per_migration=False
)
context.run_migrations()
