"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from connectors.ledger.dialect import append_only, not_append_only
from connectors.ledger.tables import Utc

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "clauses",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clauses")),
        sa.UniqueConstraint("digest", name=op.f("uq_clauses_digest")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "cursors",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("source", name=op.f("pk_cursors")),
    )
    op.create_table(
        "expressions",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("clauses", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_expressions")),
        sa.UniqueConstraint("digest", name=op.f("uq_expressions_digest")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "group_includes",
        sa.Column("included", sa.Text(), nullable=False),
        sa.Column("group", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("included", "group", "origin", name=op.f("pk_group_includes")),
    )
    op.create_table(
        "groups",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", "origin", name=op.f("pk_groups")),
    )
    op.create_table(
        "hidden_subtrees",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("since", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("source", "root", name=op.f("pk_hidden_subtrees")),
    )
    op.create_table(
        "people",
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("email", name=op.f("pk_people")),
    )
    op.create_index(op.f("ix_people_origin"), "people", ["origin"], unique=False)
    op.create_table(
        "places",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_places")),
    )
    op.create_index(op.f("ix_places_origin"), "places", ["origin"], unique=False)
    op.create_table(
        "run_claims",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("source", name=op.f("pk_run_claims")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("started", Utc(), nullable=False),
        sa.Column("ended", Utc(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_source"), "runs", ["source"], unique=False)
    op.create_index(op.f("ix_runs_started"), "runs", ["started"], unique=False)
    op.create_table(
        "sources",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("added_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sources")),
    )
    op.create_table(
        "tombstones",
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("run", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("document", name=op.f("pk_tombstones")),
    )
    op.create_index(op.f("ix_tombstones_at"), "tombstones", ["at"], unique=False)
    op.create_index(op.f("ix_tombstones_source"), "tombstones", ["source"], unique=False)
    op.create_table(
        "traces",
        sa.Column("seq", NUMBER, nullable=False),
        sa.Column("trace", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("asker", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("prev", sa.Text(), nullable=False),
        sa.Column("leaf", sa.Text(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_traces")),
        sa.UniqueConstraint("leaf", name=op.f("uq_traces_leaf")),
        sa.UniqueConstraint("prev", name=op.f("uq_traces_prev")),
    )
    op.create_index(op.f("ix_traces_asker"), "traces", ["asker"], unique=False)
    op.create_index(op.f("ix_traces_at"), "traces", ["at"], unique=False)
    op.create_index(op.f("ix_traces_trace"), "traces", ["trace"], unique=False)
    op.create_table(
        "clause_principals",
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("clause", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["clause"], ["clauses.id"], name=op.f("fk_clause_principals_clause_clauses")),
        sa.PrimaryKeyConstraint("principal", "clause", name=op.f("pk_clause_principals")),
    )
    op.create_index(op.f("ix_clause_principals_clause"), "clause_principals", ["clause"], unique=False)
    op.create_table(
        "expression_clauses",
        sa.Column("clause", NUMBER, nullable=False),
        sa.Column("expression", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["clause"], ["clauses.id"], name=op.f("fk_expression_clauses_clause_clauses")),
        sa.ForeignKeyConstraint(
            ["expression"], ["expressions.id"], name=op.f("fk_expression_clauses_expression_expressions")
        ),
        sa.PrimaryKeyConstraint("clause", "expression", name=op.f("pk_expression_clauses")),
    )
    op.create_index(op.f("ix_expression_clauses_expression"), "expression_clauses", ["expression"], unique=False)
    op.create_table(
        "identities",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("linked", sa.Boolean(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(
            ["email"], ["people.email"], name=op.f("fk_identities_email_people"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("provider", "subject", name=op.f("pk_identities")),
        sa.UniqueConstraint("email", "provider", name=op.f("uq_identities_email_provider")),
    )
    op.create_table(
        "memberships",
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("group", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["email"], ["people.email"], name=op.f("fk_memberships_email_people"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("email", "group", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_group"), "memberships", ["group"], unique=False)
    op.create_table(
        "place_members",
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["place"], ["places.name"], name=op.f("fk_place_members_place_places"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("place", "email", name=op.f("pk_place_members")),
    )
    op.create_table(
        "scopes",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("expression", NUMBER, nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("verified_at", Utc(), nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(["expression"], ["expressions.id"], name=op.f("fk_scopes_expression_expressions")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scopes")),
        sa.UniqueConstraint("source", "root", name=op.f("uq_scopes_source_root")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_scopes_expression"), "scopes", ["expression"], unique=False)
    op.create_table(
        "documents",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("scope", NUMBER, nullable=True),
        sa.Column("scope_root", sa.Text(), nullable=False),
        sa.Column("life", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("facts_digest", sa.Text(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("seen_run", sa.Text(), nullable=True),
        sa.Column("unretired", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["scope"], ["scopes.id"], name=op.f("fk_documents_scope_scopes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("name", name=op.f("uq_documents_name")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_documents_scope"), "documents", ["scope"], unique=False)
    op.create_index("ix_documents_source_life", "documents", ["source", "life"], unique=False)
    op.create_table(
        "document_ancestors",
        sa.Column("document", NUMBER, nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("ancestor", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], name=op.f("fk_document_ancestors_document_documents")),
        sa.PrimaryKeyConstraint("document", "depth", name=op.f("pk_document_ancestors")),
    )
    op.create_index("ix_document_ancestors_ancestor", "document_ancestors", ["ancestor"], unique=False)
    op.create_table(
        "versions",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("document", NUMBER, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("pending", sa.Integer(), nullable=True),
        sa.Column("effective_from", sa.Date(), nullable=True),
        sa.Column("effective_to", sa.Date(), nullable=True),
        sa.Column("superseded", sa.Boolean(), nullable=False),
        sa.Column("trust", sa.Text(), nullable=False),
        sa.Column("pending_trust", sa.Text(), nullable=True),
        sa.Column("published_at", Utc(), nullable=True),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], name=op.f("fk_versions_document_documents")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_versions")),
        sa.UniqueConstraint("name", name=op.f("uq_versions_name")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_versions_document"), "versions", ["document"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("trust", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["version"], ["versions.id"], name=op.f("fk_chunks_version_versions")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chunks")),
        sa.UniqueConstraint("version", "generation", "name", name=op.f("uq_chunks_version_generation_name")),
    )
    op.create_index(op.f("ix_chunks_name"), "chunks", ["name"], unique=False)
    for statement in append_only("traces", op.get_bind().dialect.name):
        op.execute(statement)


def downgrade() -> None:
    for statement in not_append_only("traces", op.get_bind().dialect.name):
        op.execute(statement)
    op.drop_index(op.f("ix_chunks_name"), table_name="chunks")
    op.drop_table("chunks")
    op.drop_index(op.f("ix_versions_document"), table_name="versions")
    op.drop_table("versions")
    op.drop_index("ix_document_ancestors_ancestor", table_name="document_ancestors")
    op.drop_table("document_ancestors")
    op.drop_index("ix_documents_source_life", table_name="documents")
    op.drop_index(op.f("ix_documents_scope"), table_name="documents")
    op.drop_table("documents")
    op.drop_index(op.f("ix_scopes_expression"), table_name="scopes")
    op.drop_table("scopes")
    op.drop_table("place_members")
    op.drop_index(op.f("ix_memberships_group"), table_name="memberships")
    op.drop_table("memberships")
    op.drop_table("identities")
    op.drop_index(op.f("ix_expression_clauses_expression"), table_name="expression_clauses")
    op.drop_table("expression_clauses")
    op.drop_index(op.f("ix_clause_principals_clause"), table_name="clause_principals")
    op.drop_table("clause_principals")
    op.drop_index(op.f("ix_traces_trace"), table_name="traces")
    op.drop_index(op.f("ix_traces_at"), table_name="traces")
    op.drop_index(op.f("ix_traces_asker"), table_name="traces")
    op.drop_table("traces")
    op.drop_index(op.f("ix_tombstones_source"), table_name="tombstones")
    op.drop_index(op.f("ix_tombstones_at"), table_name="tombstones")
    op.drop_table("tombstones")
    op.drop_table("sources")
    op.drop_index(op.f("ix_runs_started"), table_name="runs")
    op.drop_index(op.f("ix_runs_source"), table_name="runs")
    op.drop_table("runs")
    op.drop_table("run_claims")
    op.drop_index(op.f("ix_places_origin"), table_name="places")
    op.drop_table("places")
    op.drop_index(op.f("ix_people_origin"), table_name="people")
    op.drop_table("people")
    op.drop_table("hidden_subtrees")
    op.drop_table("groups")
    op.drop_table("group_includes")
    op.drop_table("expressions")
    op.drop_table("cursors")
    op.drop_table("clauses")
