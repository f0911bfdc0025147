"""A destination on loopback for new links: a small page with title and Open Graph tags, on many IP addresses.

It needs many, because the service reads one page per host at a time.
"""

import asyncio
import sys

_PAGE = b"""<!doctype html><html><head><title>Spring edition</title>
<meta property="og:title" content="The spring edition"><meta property="og:description" content="New this spring.">
<meta property="og:image" content="/cover.png"></head><body><p>Hello.</p></body></html>"""
_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
)


def address(number: int) -> str:
    return f"127.0.1.{number + 1}"


async def main(port: int, addresses: int) -> None:
    hosts = ["127.0.0.1", *map(address, range(addresses))]
    server = await asyncio.start_server(_answer, hosts, port)
    await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_ANSWER % len(_PAGE) + _PAGE)
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
