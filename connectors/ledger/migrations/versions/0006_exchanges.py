"""Questions and their answers of late, and what askers thought of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from connectors.ledger.tables import Utc

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "exchanges",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("asker", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("answered_in", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("until", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_exchanges")),
    )
    for column in ("asker", "thread", "answered_in", "until"):
        op.create_index(op.f(f"ix_exchanges_{column}"), "exchanges", [column], unique=False)
    op.create_table(
        "ratings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("trace", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_ratings")),
    )
    for column in ("trace", "at"):
        op.create_index(op.f(f"ix_ratings_{column}"), "ratings", [column], unique=False)


def downgrade() -> None:
    for column in ("at", "trace"):
        op.drop_index(op.f(f"ix_ratings_{column}"), table_name="ratings")
    op.drop_table("ratings")
    for column in ("until", "answered_in", "thread", "asker"):
        op.drop_index(op.f(f"ix_exchanges_{column}"), table_name="exchanges")
    op.drop_table("exchanges")
