"""Tickets for what may be done once, and the logins of people who linked themselves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from connectors.ledger.tables import Utc

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tickets",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("changed_at", Utc(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tickets")),
        sa.UniqueConstraint("digest", name=op.f("uq_tickets_digest")),
    )
    op.create_index("ix_tickets_kind_holder", "tickets", ["kind", "holder"], unique=False)
    op.create_index(op.f("ix_tickets_expires_at"), "tickets", ["expires_at"], unique=False)
    op.create_table(
        "logins",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("refresh", sa.Text(), nullable=True),
        sa.Column("checked_at", Utc(), nullable=False),
        sa.Column("asking_until", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("provider", "subject", name=op.f("pk_logins")),
    )


def downgrade() -> None:
    op.drop_table("logins")
    op.drop_index(op.f("ix_tickets_expires_at"), table_name="tickets")
    op.drop_index("ix_tickets_kind_holder", table_name="tickets")
    op.drop_table("tickets")
