from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.settings import NoSuchSetting, Secret, Settings, WrongSettings, rows
from policies.names import Principal

KEY = "a-key-that-must-not-be-seen"


def wrong(**environ: str) -> str:
    with pytest.raises(WrongSettings) as caught:
        Settings.read({f"FOOTNOTE_{name}": value for name, value in environ.items()})
    return str(caught.value)


def test_nothing_set_is_offline_on_this_machine() -> None:
    settings = Settings.read({})

    assert settings.mode == "offline"
    assert settings.data == Path("var")
    assert (settings.host, settings.port, settings.metrics_port) == ("127.0.0.1", 8080, 9090)
    assert settings.everyone == Principal.group("everyone")


def test_variables_of_others_are_left_alone() -> None:
    assert Settings.read({"PATH": "/bin", "FOOTNOTES": "x"}) == Settings.read({})


def test_an_unknown_name_is_an_error_that_names_the_nearest() -> None:
    assert "did you mean FOOTNOTE_COHERE_API_KEY?" in wrong(COHERE_APIKEY=KEY)
    assert "did you mean FOOTNOTE_MODE?" in wrong(MOED="offline")


def test_an_unknown_name_does_not_show_its_value() -> None:
    assert KEY not in wrong(COHERE_APIKEY=KEY)


def test_empty_means_not_set() -> None:
    assert Settings.read({"FOOTNOTE_OIDC_ISSUER": "", "FOOTNOTE_PORT": " "}) == Settings.read({})


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")

    settings = Settings.read({"FOOTNOTE_COHERE_API_KEY_FILE": str(tmp_path / "key")})

    assert settings.cohere_api_key is not None
    assert settings.cohere_api_key.reveal() == KEY


def test_a_secret_from_a_file_and_from_the_environment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)

    said = wrong(COHERE_API_KEY=KEY, COHERE_API_KEY_FILE=str(tmp_path / "key"))

    assert "keep one of them" in said
    assert KEY not in said


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert str(tmp_path / "none") in wrong(COHERE_API_KEY_FILE=str(tmp_path / "none"))


def test_a_secret_is_never_printed() -> None:
    settings = Settings.read({"FOOTNOTE_SLACK_BOT_TOKEN": KEY, "FOOTNOTE_SECRET_KEYS": f"{KEY},{KEY}2"})

    assert KEY not in f"{settings} {settings!r} {settings.slack_bot_token}"
    assert [key.reveal() for key in settings.secret_keys] == [KEY, f"{KEY}2"]


def test_https_is_asked_for_everywhere_but_on_this_machine() -> None:
    assert "https" in wrong(OIDC_ISSUER="http://id.example.com")
    for address in ("http://localhost:8443/x", "http://127.0.0.1:1", "http://[::1]:2", "https://id.example.com"):
        assert Settings.read({"FOOTNOTE_OIDC_ISSUER": address}).oidc_issuer == address


@pytest.mark.parametrize(
    "address",
    ["id.example.com", "ftp://a.b", "https://", "https://a.b?x=1", "https://a.b#c", "http://127.0.0.1.evil.io"],
)
def test_what_is_not_a_base_address_is_refused(address: str) -> None:
    assert "FOOTNOTE_OIDC_ISSUER" in wrong(OIDC_ISSUER=address)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://Footnote.Example.COM:443/", "https://footnote.example.com"),
        ("HTTPS://footnote.example.com:8443", "https://footnote.example.com:8443"),
        ("http://[::1]:80", "http://[::1]"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_the_public_address_is_kept_as_browsers_write_it(given: str, kept: str) -> None:
    assert Settings.read({"FOOTNOTE_PUBLIC_URL": given}).public_url == kept


def test_a_public_address_with_a_path_is_refused_and_said_why() -> None:
    said = wrong(PUBLIC_URL="https://example.com/footnote")

    assert "FOOTNOTE_PUBLIC_URL" in said
    assert "without a path" in said


@pytest.mark.parametrize(
    "server",
    ["mail.example.com", "https://mail.example.com", "smtps://", "smtps://u:pw@mail.example.com", "smtp://h/x"],
)
def test_what_is_no_mail_server_is_refused(server: str) -> None:
    assert "FOOTNOTE_MAIL_SERVER" in wrong(MAIL_SERVER=server, MAIL_FROM="footnote@example.com")


def test_known_by_an_address_takes_the_domains_of_the_company() -> None:
    settings = Settings.read(
        {"FOOTNOTE_LINK_BY_EMAIL": "verified", "FOOTNOTE_LINK_BY_EMAIL_DOMAINS": "Example.com, mail.example.org"}
    )

    assert settings.link_by_email_domains == ("example.com", "mail.example.org")
    assert "needs FOOTNOTE_LINK_BY_EMAIL_DOMAINS" in wrong(LINK_BY_EMAIL="verified")
    assert "set both or none" in wrong(LINK_BY_EMAIL_DOMAINS="example.com")
    for domains in ("@example.com", "example", "*", ",", "a@example.com", "example.com evil.example"):
        assert "one or more domains" in wrong(LINK_BY_EMAIL="verified", LINK_BY_EMAIL_DOMAINS=domains)


def test_mail_takes_a_server_and_a_sender() -> None:
    settings = Settings.read(
        {"FOOTNOTE_MAIL_SERVER": "smtps://u@mail.example.com", "FOOTNOTE_MAIL_FROM": "footnote@example.com"}
    )

    assert settings.mail_server == "smtps://u@mail.example.com"
    assert "set both or none" in wrong(MAIL_SERVER="smtps://mail.example.com")
    assert "FOOTNOTE_MAIL_FROM" in wrong(MAIL_SERVER="smtps://mail.example.com", MAIL_FROM="a@b\nBcc: c@d")


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    assert KEY not in wrong(OIDC_ISSUER=f"https://me:{KEY}@id.example.com")


@pytest.mark.parametrize("port", ["0x50", "-1", "65536", "http"])
def test_a_port_is_a_number(port: str) -> None:
    assert "FOOTNOTE_PORT" in wrong(PORT=port)


def test_a_choice_names_what_there_is_to_choose() -> None:
    assert "offline, production" in wrong(MODE="prod")


def test_a_length_of_time_has_a_unit() -> None:
    assert Settings.read({"FOOTNOTE_SYNC_EVERY": "2h"}).sync_every == timedelta(hours=2)
    assert "90s" in wrong(SYNC_EVERY="90")
    assert "90s" in wrong(SYNC_EVERY="0s")


def test_production_needs_keys() -> None:
    assert "FOOTNOTE_SECRET_KEYS" in wrong(MODE="production")


def test_doors_that_need_more_say_what() -> None:
    assert "FOOTNOTE_COHERE_API_KEY" in wrong(WRITER="cohere")
    assert "FOOTNOTE_WEAVIATE_HTTP" in wrong(INDEX="weaviate")


@pytest.mark.parametrize("grpc", ["weaviate.example.com:50051", "10.0.0.1:50051", "localhost.example.com:1", "[::2]:1"])
def test_passages_leave_this_machine_over_tls_only(grpc: str) -> None:
    assert "FOOTNOTE_WEAVIATE_GRPC" in wrong(WEAVIATE_HTTP="http://127.0.0.1:8080", WEAVIATE_GRPC=grpc)
    for http, other in (("https://weaviate.example.com", grpc), ("http://127.0.0.1:8080", "[::1]:50051")):
        read = {"FOOTNOTE_WEAVIATE_HTTP": http, "FOOTNOTE_WEAVIATE_GRPC": other}
        assert Settings.read(read).weaviate_grpc == other


def test_each_hosted_door_needs_a_key_its_own_or_the_one_for_all() -> None:
    own = {"FOOTNOTE_WRITER": "cohere", "FOOTNOTE_COHERE_CHAT_API_KEY": KEY}
    settings = Settings.read(own)
    both = Settings.read({**own, "FOOTNOTE_RERANKER": "cohere", "FOOTNOTE_COHERE_API_KEY": "for all"})

    assert settings.cohere_key("writer") == Secret(KEY)
    assert settings.cohere_key("reranker") is None
    assert both.cohere_key("writer") == Secret(KEY)
    assert both.cohere_key("reranker") == Secret("for all")
    assert "FOOTNOTE_COHERE_API_KEY" in wrong(WRITER="cohere", COHERE_EMBED_API_KEY=KEY)


def test_a_compatible_endpoint_needs_an_address_and_a_model() -> None:
    assert "FOOTNOTE_OPENAI_BASE_URL" in wrong(WRITER="openai", OPENAI_MODEL="m")
    assert "FOOTNOTE_OPENAI_MODEL" in wrong(WRITER="openai", OPENAI_BASE_URL="https://models.example.com/v1")
    assert "https" in wrong(WRITER="openai", OPENAI_MODEL="m", OPENAI_BASE_URL="http://models.example.com/v1")
    assert wrong(EMBEDDER="openai")


def test_numbers_of_hosted_models_are_checked() -> None:
    assert Settings.read({"FOOTNOTE_COHERE_EMBED_DIMENSIONS": "512"}).cohere_embed_dimensions == 512
    assert "1 to 8192" in wrong(COHERE_EMBED_DIMENSIONS="0")
    assert "rerank-v3.5=2" in wrong(MODEL_PRICES="cheap")


def test_every_setting_says_what_it_means() -> None:
    for row in rows():
        assert row.name.startswith("FOOTNOTE_")
        assert row.meaning.endswith(".")
        assert row.kind


def test_every_secret_of_the_table_is_a_secret() -> None:
    secrets = {row.name for row in rows() if row.secret}

    assert {f"FOOTNOTE_{name}" for name in ("SLACK_BOT_TOKEN", "SECRET_KEYS", "DATABASE_URL")} <= secrets
    assert repr(Secret(KEY)) == "Secret(…)"


def test_names_that_are_no_persons_are_a_list() -> None:
    assert Settings.read({"FOOTNOTE_NOT_NAMES": "Crane Safety,  Grace  Desk,"}).not_names == (
        "Crane Safety",
        "Grace Desk",
    )
    assert "separated by commas" in wrong(NOT_NAMES=" , ")


# ---------------------------------------------------------------- the secrets of sources


def test_a_secret_is_read_where_its_reference_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text(f"  {KEY}\n")
    monkeypatch.setenv("WIKI_TOKEN", KEY)

    assert Settings.read({}).secret({"secret_file": str(tmp_path / "token")}) == KEY
    assert Settings.read({}).secret({"secret_env": "WIKI_TOKEN"}) == KEY


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ({"secret_env": "NO_SUCH_VARIABLE"}, "'NO_SUCH_VARIABLE' is not set"),
        ({"secret_env": "FOOTNOTE_COHERE_API_KEY"}, "is a setting"),
        ({"secret_env": "FOOTNOTE_SECRET_KEYS_FILE"}, "is a setting"),
        ({"secret_file": "/no/such/file"}, "can't be read"),
        ({"secret_file": "/dev/null"}, "is empty"),
        ({"secret": KEY}, "by the name of a variable or of a file"),
        ({"secret_env": "A", "secret_file": "b"}, "by the name of a variable or of a file"),
        ({}, "by the name of a variable or of a file"),
    ],
)
def test_a_secret_that_is_not_there_is_one_sentence(reference: dict[str, str], says: str) -> None:
    with pytest.raises(WrongSettings, match=says) as caught:
        Settings.read({}).secret(reference)

    assert KEY not in str(caught.value)


def test_a_variable_with_the_prefix_may_hold_the_secret_of_a_source() -> None:
    environ = {"FOOTNOTE_WIKI_TOKEN": KEY, "FOOTNOTE_DATABSE_URL": "x"}
    with pytest.raises(NoSuchSetting) as caught:
        Settings.read(environ)

    assert caught.value.names == {"FOOTNOTE_WIKI_TOKEN", "FOOTNOTE_DATABSE_URL"}
    assert KEY not in str(caught.value)
    with pytest.raises(WrongSettings, match="did you mean FOOTNOTE_DATABASE_URL"):
        Settings.read(environ, secrets=["FOOTNOTE_WIKI_TOKEN"])
    assert Settings.read(environ, secrets=list(environ)) == Settings.read({})
