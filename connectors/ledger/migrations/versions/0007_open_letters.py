"""How many letters of a person and of a workspace are open is read from an index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

NAME = "ix_letters_workspace_person"


def upgrade() -> None:
    still_open = sa.text("state <> 'closed'")
    columns = ["workspace", "person"]
    op.create_index(NAME, "letters", columns, unique=False, sqlite_where=still_open, postgresql_where=still_open)


def downgrade() -> None:
    op.drop_index(NAME, table_name="letters")
