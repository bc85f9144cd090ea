"""T-130 to T-133 of the threat model, through the sandbox: refused with a reason, and the worker reads on."""

from __future__ import annotations

import asyncio
import io
import struct
import zipfile
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from connectors.errors import Skip
from connectors.sync.parse import Limits, SandboxedParser
from tests.connectors.sync.parse.made import part, pdf, repacked, slides, word, workbook


@pytest.fixture(scope="module")
def letter() -> bytes:
    return word(lambda document: document.add_paragraph("Text."))


@pytest.fixture
async def parser() -> AsyncIterator[SandboxedParser]:
    async with SandboxedParser(Limits(seconds=10)) as opened:
        yield opened


async def _refusal(parser: SandboxedParser, body: bytes, name: str = "a.docx") -> str:
    with pytest.raises(Skip) as caught:
        await parser.parse(body, "", name)
    record = await parser.parse(b"still here", "text/plain", "a.txt")
    assert record.blocks[0].text == "still here"
    return str(caught.value)


async def test_t130_a_bomb_by_ratio_is_refused(parser: SandboxedParser, letter: bytes) -> None:
    bomb = repacked(letter, added={"word/media/image1.png": b"\0" * 60_000_000})

    assert "times its size" in await _refusal(parser, bomb)


async def test_t130_a_bomb_by_size_is_refused(letter: bytes) -> None:
    bomb = repacked(letter, added={f"word/media/{n}.png": b"\0" * 3_000_000 for n in range(4)})

    async with SandboxedParser(Limits(unpacked=10_000_000)) as parser:
        assert "unpacks to more than 10 MB" in await _refusal(parser, bomb)


async def test_t130_an_archive_inside_is_refused(parser: SandboxedParser, letter: bytes) -> None:
    assert "another archive" in await _refusal(parser, repacked(letter, added={"word/media/image1.png": letter}))


async def test_t130_a_hundred_thousand_entries_are_refused(parser: SandboxedParser, letter: bytes) -> None:
    end = letter.rindex(b"PK\x05\x06")
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    crowd = letter[:end] + entry * 100_000 + letter[end:]

    assert "more than 2,000 parts" in await _refusal(parser, crowd)


async def test_t130_lying_sizes_are_refused(parser: SandboxedParser, letter: bytes) -> None:
    body = bytearray(repacked(letter))
    at = body.rindex(b"PK\x01\x02", 0, body.index(b"word/document.xml", body.index(b"PK\x01\x02")))
    struct.pack_into("<I", body, at + 24, 40)

    assert "broken" in await _refusal(parser, bytes(body))


@pytest.mark.parametrize("name", ["../evil.xml", "/etc/passwd", "word/../../evil", "C:/evil", "..\\evil"])
async def test_t130_names_that_lead_outside_are_refused(parser: SandboxedParser, letter: bytes, name: str) -> None:
    assert "leads outside" in await _refusal(parser, repacked(letter, added={name: b"x"}))


async def test_t130_a_symbolic_link_is_refused(parser: SandboxedParser, letter: bytes) -> None:
    held = io.BytesIO(letter)
    with zipfile.ZipFile(held, "a") as package:
        link = zipfile.ZipInfo("word/link")
        link.external_attr = 0o120777 << 16
        package.writestr(link, "/etc/passwd")

    assert "symbolic link" in await _refusal(parser, held.getvalue())


def _with_entities(letter: bytes, declarations: str, use: str) -> bytes:
    document = part(letter, "word/document.xml")
    start = document.index(b"?>") + 2
    changed = document[:start] + f"<!DOCTYPE x [{declarations}]>".encode() + document[start:]
    return repacked(letter, {"word/document.xml": changed.replace(b"Text.", use.encode())})


_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))


@pytest.mark.parametrize(
    ("declarations", "use"),
    [
        ('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"),
        (_LAUGHS, "&l9;"),
        (f'<!ENTITY q "{"a" * 50_000}">', "&q;" * 5_000),
    ],
    ids=["external", "billion laughs", "quadratic"],
)
async def test_t131_entities_are_refused(parser: SandboxedParser, letter: bytes, declarations: str, use: str) -> None:
    assert "document type" in await _refusal(parser, _with_entities(letter, declarations, use))


async def test_t131_entities_in_utf16_are_refused(parser: SandboxedParser, letter: bytes) -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'

    assert "document type" in await _refusal(parser, repacked(letter, {"word/styles.xml": text.encode("utf-16")}))


async def test_t131_a_document_type_behind_a_long_comment_is_refused(parser: SandboxedParser, letter: bytes) -> None:
    text = f'<?xml version="1.0"?><!--{"x" * 100_000}--><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'

    assert "document type" in await _refusal(parser, repacked(letter, {"word/styles.xml": text.encode()}))


async def test_t131_an_encoding_that_hides_markup_is_refused(parser: SandboxedParser, letter: bytes) -> None:
    text = b'<?xml version="1.0" encoding="cp037"?>'

    assert "encoding" in await _refusal(parser, repacked(letter, {"word/styles.xml": text}))


async def test_t131_an_external_link_of_a_workbook_is_refused_and_not_fetched(parser: SandboxedParser) -> None:
    asked = asyncio.Event()
    server = await asyncio.start_server(lambda _r, _w: asked.set(), "127.0.0.1", 0)
    target = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/book.xlsx"
    base = "http://schemas.openxmlformats.org"
    relations = (
        f'<Relationships xmlns="{base}/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{base}/officeDocument/2006/relationships/externalLinkPath" Target="{target}" TargetMode="External"/>'
        "</Relationships>"
    )
    body = workbook(lambda book: book.active.append(["a"]))
    linked = repacked(body, added={"xl/externalLinks/_rels/externalLink1.xml.rels": relations.encode()})

    async with server:
        assert "externalLinkPath" in await _refusal(parser, linked, "a.xlsx")
        assert not asked.is_set()


async def test_nothing_a_page_names_is_fetched(parser: SandboxedParser) -> None:
    asked = asyncio.Event()
    server = await asyncio.start_server(lambda _r, _w: asked.set(), "127.0.0.1", 0)
    at = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    page = f'<link rel=stylesheet href="{at}/a.css"><img src="{at}/a.png"><iframe src="{at}"></iframe><p>Text.'

    async with server:
        await parser.parse(page.encode(), "text/html", "a.html")
        await parser.parse(f"![x]({at}/a.png)\n\nText.".encode(), "text/markdown", "a.md")

        assert not asked.is_set()


def _pdf_with(stream: bytes, filters: str) -> bytes:
    """A page whose content is this stream."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R >>",
        f"<< /Length {len(stream)} /Filter {filters} >>\nstream\n".encode() + stream + b"\nendstream",
    ]
    body, offsets = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n".encode() + each + b"\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    return (
        body
        + (
            f"xref\n0 5\n0000000000 65535 f \n{table}trailer << /Size 5 /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
        ).encode()
    )


async def test_t132_a_huge_stream_costs_only_its_own_document() -> None:
    packed = b"0 0 m 9 9 l S " * 8_000_000
    bomb = _pdf_with(zlib.compress(zlib.compress(packed, 9), 9), "[/FlateDecode /FlateDecode]")

    async with SandboxedParser(Limits(seconds=2.5, memory_mb=256)) as parser:
        assert await _refusal(parser, bomb, "a.pdf")


async def test_t132_pages_that_contain_themselves_are_refused(parser: SandboxedParser) -> None:
    body = pdf(lambda canvas: canvas.drawString(72, 700, "x"))
    looped = body.replace(b"/Kids [ ", b"/Kids [ 5 0 R 5 0 R 5 0 R ", 1)

    with pytest.raises(Skip):
        await parser.parse(looped[: len(looped) // 2], "", "a.pdf")


async def test_t132_a_broken_jbig2_picture_costs_nothing(parser: SandboxedParser) -> None:
    assert await _refusal(parser, _pdf_with(b"\xff" * 10_000, "/JBIG2Decode"), "a.pdf")


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.pdf", ""), ("a.txt", ""), ("a.html", ""), ("a.md", "text/markdown"), ("a.xlsx", ""), ("a.docx", "text/html")],
)
async def test_t133_a_word_document_under_another_name_is_refused(
    parser: SandboxedParser, letter: bytes, name: str, media_type: str
) -> None:
    with pytest.raises(Skip):
        await parser.parse(letter, media_type, name)


async def test_t133_a_pdf_that_is_also_an_archive_is_refused(parser: SandboxedParser, letter: bytes) -> None:
    body = pdf(lambda canvas: canvas.drawString(72, 700, "x"))

    assert "archive at once" in await _refusal(parser, body + letter, "a.pdf")


async def test_t133_a_locked_office_document_is_refused(parser: SandboxedParser) -> None:
    body = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le")

    assert "password" in await _refusal(parser, body, "a.xlsx")


@pytest.mark.parametrize("name", ["a.docm", "a.xlsm", "a.pptm"])
async def test_t133_a_document_with_macros_is_refused_by_its_name(parser: SandboxedParser, name: str) -> None:
    assert "macros" in await _refusal(parser, b"PK\x03\x04", name)


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
async def test_t133_macros_under_an_innocent_name_are_refused(
    parser: SandboxedParser, letter: bytes, kind: str
) -> None:
    def fill(deck: Any) -> None:
        deck.slides.add_slide(deck.slide_layouts[6])

    bodies = {"docx": letter, "pptx": slides(fill), "xlsx": workbook(lambda book: book.active.append(["a"]))}

    assert "macros" in await _refusal(parser, repacked(bodies[kind], added={"word/vbaProject.bin": b"x"}), f"a.{kind}")


async def test_t133_an_old_format_is_refused_with_the_new_one_named(parser: SandboxedParser) -> None:
    assert "save it as .docx" in await _refusal(parser, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.doc")


async def test_a_document_without_text_is_refused(parser: SandboxedParser) -> None:
    assert "holds no text" in await _refusal(parser, pdf(lambda canvas: canvas.rect(1, 1, 9, 9)), "a.pdf")
