"""What far sources remember of their objects from one run to the next, and what events told of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from connectors.ledger.tables import Utc

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "nodes",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=True),
        sa.Column("container", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=True),
        sa.Column("rules_at", Utc(), nullable=False),
        sa.Column("is_document", sa.Boolean(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.Column("walk", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("source", "key", name=op.f("pk_nodes")),
    )
    op.create_index("ix_nodes_source_container_key", "nodes", ["source", "container", "key"], unique=False)
    op.create_index("ix_nodes_source_parent", "nodes", ["source", "parent"], unique=False)
    op.create_table(
        "source_notes",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("source", "name", name=op.f("pk_source_notes")),
    )
    op.create_table(
        "source_hints",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_source_hints")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_source_hints_source_key", "source_hints", ["source", "key"], unique=False)
    op.create_index("ix_documents_source_key", "documents", ["source", "key"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_documents_source_key", table_name="documents")
    op.drop_index("ix_source_hints_source_key", table_name="source_hints")
    op.drop_table("source_hints")
    op.drop_table("source_notes")
    op.drop_index("ix_nodes_source_parent", table_name="nodes")
    op.drop_index("ix_nodes_source_container_key", table_name="nodes")
    op.drop_table("nodes")
