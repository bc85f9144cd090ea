"""What scopes stand in, so that a whole site is asked for by one value.

A scope from before stands in its source, and in the folders above it where the source is one of files.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from connectors.ledger.standings import path_digest, recount

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "containers",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("parent", NUMBER, nullable=True),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["parent"], ["containers.id"], name=op.f("fk_containers_parent_containers")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_containers")),
        sa.UniqueConstraint("digest", name=op.f("uq_containers_digest")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_containers_parent"), "containers", ["parent"], unique=False)
    op.create_index(op.f("ix_containers_source"), "containers", ["source"], unique=False)
    op.create_table(
        "container_rules",
        sa.Column("expression", NUMBER, nullable=False),
        sa.Column("container", NUMBER, nullable=False),
        sa.Column("scopes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["container"], ["containers.id"], name=op.f("fk_container_rules_container_containers")),
        sa.ForeignKeyConstraint(
            ["expression"], ["expressions.id"], name=op.f("fk_container_rules_expression_expressions")
        ),
        sa.PrimaryKeyConstraint("expression", "container", name=op.f("pk_container_rules")),
    )
    op.create_index(op.f("ix_container_rules_container"), "container_rules", ["container"], unique=False)
    op.create_table(
        "marks",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_marks")),
    )
    op.add_column("scopes", sa.Column("container", NUMBER, nullable=True))
    _fill(op.get_bind())
    op.create_index("ix_scopes_container_expression", "scopes", ["container", "expression"], unique=False)
    active = sa.text("state = 'active'")
    op.create_index(
        "ix_scopes_expires_at", "scopes", ["expires_at"], unique=False, sqlite_where=active, postgresql_where=active
    )


def _fill(connection: sa.Connection) -> None:
    files = set(connection.execute(sa.text("SELECT name FROM sources WHERE kind = 'files'")).scalars())
    numbers: dict[tuple[str, ...], int] = {}
    rows = connection.execute(sa.text("SELECT id, source, root FROM scopes ORDER BY id")).all()
    for scope, source, root in rows:
        folders = root.split("/")[:-1][:7] if source in files else []
        path = (source, "", *("/".join(folders[: depth + 1]) for depth in range(len(folders))))
        for depth in range(2, len(path) + 1):
            if path[:depth] not in numbers:
                parent = numbers.get(path[: depth - 1])
                numbers[path[:depth]] = _added(connection, source, path[1:depth], parent)
        connection.execute(
            sa.text("UPDATE scopes SET container = :home WHERE id = :scope"), {"home": numbers[path], "scope": scope}
        )
    recount(connection)


def _added(connection: sa.Connection, source: str, path: tuple[str, ...], parent: int | None) -> int:
    row = {"source": source, "parent": parent, "key": path[-1], "digest": path_digest(source, path)}
    statement = sa.text(
        "INSERT INTO containers (source, parent, key, digest, scopes) VALUES (:source, :parent, :key, :digest, 0) "
        "RETURNING id"
    )
    return int(connection.execute(statement, row).scalar_one())


def downgrade() -> None:
    op.drop_index("ix_scopes_expires_at", table_name="scopes")
    op.drop_index("ix_scopes_container_expression", table_name="scopes")
    op.drop_column("scopes", "container")
    op.drop_table("marks")
    op.drop_index(op.f("ix_container_rules_container"), table_name="container_rules")
    op.drop_table("container_rules")
    op.drop_index(op.f("ix_containers_source"), table_name="containers")
    op.drop_index(op.f("ix_containers_parent"), table_name="containers")
    op.drop_table("containers")
