"""A stand-in for the composition root: its web process answers with its pid, its worker writes its pid down."""

import asyncio
import os
from pathlib import Path


async def run_web(settings, *, role, sockets, stop):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        body = f"{os.getpid()} {role}".encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, sock=sockets[0])
    await stop.wait()
    server.close()


async def run_worker(settings, *, stop):
    note = Path(settings.data_dir / "worker")
    note.with_suffix(".new").write_text(f"{os.getpid()} {os.nice(0)}")
    note.with_suffix(".new").rename(note)
    await stop.wait()
    note.with_suffix(".stopped").touch()
