"""A mail server on this machine: it keeps what it is handed, or refuses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass(slots=True)
class FakeMail:
    """What came in, and what is said to it: `refuses` answers recipients."""

    refuses: str = ""
    came: list[EmailMessage] = field(default_factory=list)
    address: str = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield self.address

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.test\r\n")
        while line := (await reader.readline()).decode().strip():
            match line.partition(" ")[0].upper():
                case "EHLO":
                    said = "250-mail.test\r\n250 8BITMIME"
                case "RCPT" if self.refuses:
                    said = self.refuses
                case "DATA":
                    writer.write(b"354 go on\r\n")
                    written = await reader.readuntil(b"\r\n.\r\n")
                    self.came.append(message_from_bytes(written[:-5], policy=policy.default))  # type: ignore[arg-type]
                    said = "250 kept"
                case "QUIT":
                    said = "221 bye"
                case _:
                    said = "250 ok"
            writer.write(f"{said}\r\n".encode())
        writer.close()
