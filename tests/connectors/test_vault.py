from __future__ import annotations

import base64
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from connectors.errors import Stop
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault, keys_from_file, private_text, problem_of

KEY, OTHER = "Zq8v3L1xW0pT7nYb5cRk2mJd9fHs4gAe", "fP2kX9vB6wM1zQ8rT4yN7cJ3hL0dS5gA"
PLACE = "tokens|row 7|refresh"


def test_what_was_sealed_opens_in_its_place() -> None:
    vault = Vault([KEY])

    assert vault.open(vault.seal("a token — with ünicode", PLACE), PLACE) == "a token — with ünicode"
    assert vault.open(vault.seal("", PLACE), PLACE) == ""


def test_equal_texts_are_sealed_differently() -> None:
    vault = Vault([KEY])

    assert vault.seal("same", PLACE) != vault.seal("same", PLACE)


@pytest.mark.parametrize("place", ["tokens|row 8|refresh", "tokens|row 7|access", ""])
def test_a_value_moved_to_another_place_does_not_open(place: str) -> None:
    vault = Vault([KEY])
    sealed = vault.seal("a token", PLACE)

    with pytest.raises(Stop, match="can't be opened"):
        vault.open(sealed, place)


def test_every_changed_byte_is_refused_with_the_same_words() -> None:
    vault = Vault([KEY])
    version, key_id, blob = vault.seal("a token", PLACE).split(".")
    raw = base64.urlsafe_b64decode(blob + "=" * (-len(blob) % 4))
    messages = set()
    for position in range(len(raw)):
        changed = raw[:position] + bytes([raw[position] ^ 1]) + raw[position + 1 :]
        with pytest.raises(Stop) as refusal:
            vault.open(f"{version}.{key_id}.{base64.urlsafe_b64encode(changed).decode().rstrip('=')}", PLACE)
        messages.add(str(refusal.value))
        assert refusal.value.__cause__ is None

    for malformed in (
        "",
        "fn1",
        "fn1.x.y",
        f"fn2.{key_id}.{blob}",
        f"fn1.{key_id}.!!",
        f"fn1.{key_id}.AAAA",
        "a.b.c.d",
    ):
        with pytest.raises(Stop) as refusal:
            vault.open(malformed, PLACE)
        messages.add(str(refusal.value))
    with pytest.raises(Stop) as refusal:
        Vault([OTHER]).open(f"{version}.{key_id}.{blob}", PLACE)
    messages.add(str(refusal.value))

    assert len(messages) == 1


def test_a_ciphertext_for_another_key_is_refused_by_its_commitment() -> None:
    """AES-GCM alone does not commit to its key; a value made to open under two keys fails here before it is opened."""
    vault = Vault([KEY])
    version, key_id, blob = vault.seal("the true question", PLACE).split(".")
    raw = base64.urlsafe_b64decode(blob + "=" * (-len(blob) % 4))
    foreign = AESGCM(b"k" * 32).encrypt(raw[64:76], b"another question", b"")
    crafted = base64.urlsafe_b64encode(raw[:32] + b"c" * 32 + raw[64:76] + foreign).decode().rstrip("=")

    with pytest.raises(Stop, match="can't be opened"):
        vault.open(f"{version}.{key_id}.{crafted}", PLACE)


def test_old_keys_open_and_the_newest_seals() -> None:
    old, both, new = Vault([KEY]), Vault([OTHER, KEY]), Vault([OTHER])
    sealed = old.seal("a token", PLACE)

    assert not both.fresh(sealed)
    moved = both.reseal(sealed, PLACE)
    assert both.fresh(moved)
    assert both.reseal(moved, PLACE) == moved
    assert new.open(moved, PLACE) == "a token"


def test_pseudonyms_are_equal_for_equal_texts_of_one_purpose_and_key() -> None:
    vault, other = Vault([KEY]), Vault([OTHER, KEY])

    assert vault.pseudonym("asker", "usr:a@b.c") == vault.pseudonym("asker", "usr:a@b.c")
    assert vault.pseudonym("asker", "usr:a@b.c") != vault.pseudonym("reviewer", "usr:a@b.c")
    assert vault.pseudonym("asker", "usr:a@b.c") != other.pseudonym("asker", "usr:a@b.c")
    assert other.pseudonyms("asker", "usr:a@b.c")[1] == vault.pseudonym("asker", "usr:a@b.c")
    assert "a@b" not in vault.pseudonym("asker", "usr:a@b.c")


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ([], "at least one"),
        (["tiny-0192"], "shorter"),
        ([KEY, KEY], "twice"),
        (["a" * 40], "example"),
        (["change-me-change-me-0192837465-abcdef"], "example"),
        (["0123456789abcdef0123456789abcdef"], "example"),
        ([KEY, "this-is-an-EXAMPLE-key-0192837465-xyz"], "key 2"),
    ],
)
def test_weak_keys_are_refused_without_being_shown(keys: list[str], problem: str) -> None:
    with pytest.raises(Stop, match=problem) as refusal:
        Vault(keys)

    assert not any(key in str(refusal.value) for key in keys)


def test_a_vault_prints_no_key() -> None:
    assert KEY not in repr(Vault([KEY]))
    assert KEY not in repr([Vault([KEY])._keys])


def test_the_key_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret-keys"
    with ThreadPoolExecutor(8) as pool:
        made = {tuple(keys) for keys in pool.map(lambda _: keys_from_file(path), range(8))}

    assert len(made) == 1
    assert problem_of(made.pop()) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["secret-keys"]


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret-keys"
    keys_from_file(path)
    path.chmod(0o640)

    with pytest.raises(Stop, match="chmod 600"):
        keys_from_file(path)


def test_a_key_file_that_holds_no_text_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "secret-keys"
    keys_from_file(path)
    path.write_bytes(b"\xff\xfe" * 32)

    with pytest.raises(Stop, match="damaged"):
        keys_from_file(path)


def test_a_key_file_in_a_place_that_can_not_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(Stop, match="FOOTNOTE_DATA"):
        keys_from_file(tmp_path / "file" / "keys")


def test_a_signer_keeps_its_key(tmp_path: Path) -> None:
    first, again = (TraceSigner.from_file(tmp_path / "signer") for _ in range(2))
    signature = first.sign(b"state")

    assert again.verify(b"state", signature)
    assert (first.key_id, len(first.public)) == (again.key_id, 32)
    assert stat.S_IMODE((tmp_path / "signer").stat().st_mode) == 0o600


def test_a_signature_is_for_one_message_and_one_key() -> None:
    signer = TraceSigner.new()
    signature = signer.sign(b"state")

    assert not signer.verify(b"state.", signature)
    assert not TraceSigner.new().verify(b"state", signature)
    assert not signer.verify(b"state", signature[:-4])
    assert not signer.verify(b"state", "not base64 !")
    assert "PRIVATE" not in repr(signer)


def test_a_file_that_holds_no_signing_key_is_refused(tmp_path: Path) -> None:
    private_text(tmp_path / "signer", lambda: "not a key")

    with pytest.raises(Stop, match="no signing key"):
        TraceSigner.from_file(tmp_path / "signer")
    assert os.access(tmp_path / "signer", os.R_OK)
