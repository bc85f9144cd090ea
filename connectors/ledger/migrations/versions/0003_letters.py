"""What was asked in a chat and waits for its answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from connectors.ledger.tables import Utc

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "letters",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("received_at", Utc(), nullable=False),
        sa.Column("due_at", Utc(), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("process", sa.Text(), nullable=True),
        sa.Column("lease_until", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_letters")),
        sa.UniqueConstraint("name", name=op.f("uq_letters_name")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_letters_state_due_at", "letters", ["state", "due_at"], unique=False)
    op.create_index(op.f("ix_letters_received_at"), "letters", ["received_at"], unique=False)
    op.create_table(
        "letter_keys",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("letter", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(
            ["letter"], ["letters.number"], name=op.f("fk_letter_keys_letter_letters"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_letter_keys")),
    )
    op.create_index(op.f("ix_letter_keys_letter"), "letter_keys", ["letter"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_letter_keys_letter"), table_name="letter_keys")
    op.drop_table("letter_keys")
    op.drop_index(op.f("ix_letters_received_at"), table_name="letters")
    op.drop_index("ix_letters_state_due_at", table_name="letters")
    op.drop_table("letters")
