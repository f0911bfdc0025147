"""ClickHouse's HTTP interface over chdb, which is the engine of ClickHouse as a library, with faults on demand.

A process of its own: the engine opens one directory per process, and tests kill it. `server.py` starts it.
Each request has its own connection to the engine, and requests run in parallel as on a real server.
"""

import argparse
import asyncio
import base64
import contextlib
import gzip
import io
import json
import os
import re
import signal
import socket
import ssl
import time
import uuid
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lz4.frame
from aiohttp import web
from chdb.state.sqlitelike import Connection

try:
    from compression import zstd
except ImportError:  # before Python 3.14
    from backports import zstd

HTTP_PARAMETERS = {
    *("query", "database", "user", "password", "query_id", "quota_key", "role", "stacktrace", "default_format"),
    *("session_id", "session_timeout", "session_check", "close_session", "client_protocol_version"),
    *("compress", "decompress", "buffer_size", "wait_end_of_query"),
}
COMPRESS = {"zstd": zstd.compress, "lz4": lz4.frame.compress, "gzip": gzip.compress, "deflate": zlib.compress}
DECOMPRESS = {
    "zstd": zstd.decompress,
    "lz4": lambda body: lz4.frame.open(io.BytesIO(body)).read(),  # the client sends one frame after another
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "identity": bytes,
}
_STATUS = {  # of error codes, as src/Server/HTTP/exceptionCodeToHTTPStatus.cpp of ClickHouse has them
    **dict.fromkeys((6, 8, 15, 25, 26, 27, 36, 38, 41, 44, 53, 62, 72, 117, 321, 376), 400),
    194: 401,
    **dict.fromkeys((192, 193, 497, 516), 403),
    **dict.fromkeys((46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 336, 511), 404),
    159: 408,
    48: 501,
    **dict.fromkeys((76, 209, 439), 503),
}
_INSERT = re.compile(
    rb"(\s*INSERT\s+INTO\b(?:(?!\b(?:VALUES|SELECT)\b).)*?)\bFORMAT\s+(\w+)[ \t]*(?:\r?\n|$)", re.IGNORECASE | re.DOTALL
)
_HAS_ROWS = re.compile(r"\s*\(*\s*(SELECT|WITH|SHOW|DESC|DESCRIBE|EXISTS|EXPLAIN|CHECK)\b", re.IGNORECASE)
_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_CODE = re.compile(r"Code: (\d+)\. ")


@dataclass
class Fault:
    kind: str
    only: str
    times: int | None
    executed: bool
    seconds: float = 0
    code: int = 0
    status: int = 0
    message: str = ""

    def strikes(self, query: str) -> bool:
        return self.times != 0 and re.search(self.only, query, re.IGNORECASE | re.DOTALL) is not None


class ClickHouseError(Exception):
    def __init__(self, text: str, *, code: int = 0, status: int = 0) -> None:
        found = _CODE.search(text)
        self.code = code or (int(found[1]) if found else 49)
        self.status = status or _STATUS.get(self.code, 500)
        text = text[found.start() :] if found else f"Code: {self.code}. DB::Exception: {text}"
        self.text = text if "(version " in text else f"{text} (version {VERSION} (official build))"


@dataclass
class Answer:
    body: bytes
    headers: dict[str, str]
    status: int = 200


@dataclass
class Query:
    text: bytes
    parameters: Mapping[str, str]
    """Those of the URL."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def head(self) -> str:
        """Without the rows of an INSERT."""
        insert = _INSERT.match(self.text)
        return (insert[0] if insert else self.text)[:2000].decode(errors="replace")

    @property
    def settings(self) -> dict[str, str]:
        names = self.parameters.keys() - HTTP_PARAMETERS
        return {name: self.parameters[name] for name in sorted(names) if not name.startswith("param_")}

    @property
    def values(self) -> dict[str, str]:
        return {name.removeprefix("param_"): x for name, x in self.parameters.items() if name.startswith("param_")}


class Engine:
    def __init__(self, directory: Path) -> None:
        self._path = str(directory)
        self._keep_open = Connection(self._path)  # with its last connection the engine closes, and to open takes longer
        self._sessions: dict[str, Connection] = {}
        self._busy: set[str] = set()

    def answer(self, query: Query) -> Answer:
        session = query.parameters.get("session_id")
        if not session:
            with contextlib.closing(Connection(self._path)) as connection:
                return self._answer(connection, query)
        if session in self._busy:
            raise ClickHouseError(f"Session {session} is locked by a concurrent client. (SESSION_IS_LOCKED)", code=373)
        self._busy.add(session)
        try:
            if session not in self._sessions:
                self._sessions[session] = Connection(self._path)
            connection = self._sessions[session]
            try:
                return self._answer(connection, query)
            finally:
                if query.settings:
                    connection.query("SET " + ", ".join(f"{name} = DEFAULT" for name in query.settings))
        finally:
            self._busy.discard(session)

    def rows(self, sql: str, database: str) -> list[list[Any]]:
        body = self.answer(Query(sql.encode(), {"database": database, "default_format": "JSONCompactEachRow"})).body
        return [json.loads(line) for line in body.splitlines()]

    def _answer(self, connection: Any, query: Query) -> Answer:
        started = time.perf_counter()
        headers = {"X-ClickHouse-Timezone": "UTC", "X-ClickHouse-Query-Id": query.parameters.get("query_id", query.id)}
        try:
            if database := query.parameters.get("database"):
                connection.query("USE `{}`".format(database.replace("`", "``")))
            if query.settings:
                connection.query("SET " + ", ".join(f"{k} = {_quote(v)}" for k, v in query.settings.items()))
            if insert := _INSERT.match(query.text):
                inserter = connection.send_insert(insert[1].decode(), insert[2].decode())
                try:
                    inserter.append(query.text[insert.end() :])
                    done = inserter.finish()
                finally:
                    inserter.cancel()
                body, rows, size = b"", (0, done.rows_written), (0, done.bytes_written)
            else:
                text = query.text.decode()
                default = query.parameters.get("default_format", "TabSeparated")
                result = connection.query(text, default, params=query.values)
                body = result.bytes() or b""
                rows, size = (result.storage_rows_read(), 0), (result.storage_bytes_read(), 0)
                if _HAS_ROWS.match(text):
                    chosen = _FORMAT.search(text)
                    headers["X-ClickHouse-Format"] = chosen[1] if chosen else default
        except UnicodeDecodeError as error:
            raise ClickHouseError(f"{error} (SYNTAX_ERROR)", code=62) from None
        except Exception as error:  # RuntimeError and ChdbError, by the path taken
            raise ClickHouseError(str(error)) from None
        summary = {
            "read_rows": rows[0],
            "read_bytes": size[0],
            "written_rows": rows[1],
            "written_bytes": size[1],
            "elapsed_ns": int((time.perf_counter() - started) * 1e9),
        }
        headers["X-ClickHouse-Summary"] = json.dumps({name: str(value) for name, value in summary.items()})
        return Answer(body, headers)


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


VERSION = Connection(":memory:").query("SELECT version()", "TSVRaw").bytes().decode().strip()


class HttpInterface:
    def __init__(self, engine: Engine, account: str, log: Path) -> None:
        self._engine = engine
        self._account = account
        self._log = log.open("a", buffering=1)
        self._cleared = asyncio.Event()
        self.faults: list[Fault] = []

    def clear(self) -> None:
        """End all faults. Requests that hang lose their connection."""
        self.faults.clear()
        self._cleared.set()
        self._cleared = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        query = Query(b"", request.query)
        try:
            query = await _read(request)
        except ClickHouseError as error:
            return _response(_of(error), request)
        fault = next((each for each in self.faults if each.strikes(query.head)), None)
        if fault and fault.times:
            fault.times -= 1
        self._note(query, query=query.head, settings=query.settings, database=query.parameters.get("database"))
        try:
            self._authenticate(request)
            if fault and not fault.executed:
                self._note(query, fault=fault.kind)
                await self._strike(fault, request, None)
            if request.path == "/ping":
                answer = Answer(b"Ok.\n", {})
            else:
                answer = await asyncio.to_thread(self._engine.answer, query)
                self._note(query, executed=True)
            if fault and fault.executed:
                self._note(query, fault=fault.kind)
                await self._strike(fault, request, answer)
        except ClickHouseError as error:
            answer = _of(error)
        self._note(query, status=answer.status)
        return _response(answer, request)

    async def _strike(self, fault: Fault, request: web.Request, answer: Answer | None) -> None:
        transport = request.transport
        assert transport is not None
        match fault.kind:
            case "delay":
                await asyncio.sleep(fault.seconds)
                return
            case "error":
                raise ClickHouseError(fault.message, code=fault.code, status=fault.status)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                await self._cleared.wait()
                transport.abort()
            case "truncate":
                assert answer is not None
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer.body)}\r\n\r\n".encode()
                transport.write(head + answer.body[: len(answer.body) // 2] if answer.body else head[:20])
                transport.close()
            case "close":
                transport.close()
        raise asyncio.CancelledError  # nobody is there to read an answer

    def _authenticate(self, request: web.Request) -> None:
        if request.path == "/ping":
            return
        name = request.headers.get("X-ClickHouse-User", request.query.get("user", "default"))
        account = f"{name}:{request.headers.get('X-ClickHouse-Key', request.query.get('password', ''))}"
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            account = base64.b64decode(credentials).decode()
        if account != self._account:
            text = "Authentication failed: password is incorrect, or there is no user with such name."
            raise ClickHouseError(f"{account.partition(':')[0]}: {text} (AUTHENTICATION_FAILED)", code=516)

    def _note(self, about: Query, /, **facts: Any) -> None:
        self._log.write(json.dumps({"id": about.id, **facts}) + "\n")


async def _read(request: web.Request) -> Query:
    parameters = dict(request.query)
    if request.content_type == "multipart/form-data":
        form = await request.post()
        parameters |= {name: value for name, value in form.items() if isinstance(value, str)}
        body = b""
    else:
        body = await request.read()
        encoding = request.headers.get("Content-Encoding", "identity")
        try:
            body = await asyncio.to_thread(DECOMPRESS[encoding], body)
        except Exception as error:
            raise ClickHouseError(f"Cannot decompress {encoding}: {error!r}", code=354) from None
    text = b"\n".join(part for part in (parameters.get("query", "").encode(), body) if part)
    return Query(text, parameters)


def _of(error: ClickHouseError) -> Answer:
    return Answer(f"{error.text}\n".encode(), {"X-ClickHouse-Exception-Code": str(error.code)}, error.status)


def _response(answer: Answer, request: web.Request) -> web.Response:
    accepted = re.findall(r"\w+", request.headers.get("Accept-Encoding", ""))
    encoding = next((name for name in COMPRESS if name in accepted), None)
    if encoding and request.query.get("enable_http_compression") == "1":
        answer.headers["Content-Encoding"] = encoding
        answer.body = COMPRESS[encoding](answer.body)
    return web.Response(body=answer.body, status=answer.status, headers=answer.headers)


class Server:
    def __init__(self, directory: Path, host: str, port: int, account: str, certificate: str | None) -> None:
        self._engine = Engine(directory / "data")
        self._http = HttpInterface(self._engine, account, directory / "requests")
        app = web.Application(client_max_size=1 << 40)
        app.router.add_route("*", "/{path:.*}", self._http.handle)
        self._runner = web.AppRunner(app, access_log=None, auto_decompress=False)
        self._site: web.TCPSite | None = None
        self._host, self._port = host, port
        self._tls = None
        if certificate:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._tls.load_cert_chain(certificate)

    async def run(self, control: socket.socket) -> None:
        """Replies to each order; the first reply says that the server accepts connections."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(32))
        reader, writer = await asyncio.open_connection(sock=control)
        await self._runner.setup()
        await self._accept()
        writer.write(b"null\n")
        while line := await reader.readline():
            reply = await self._obey(json.loads(line))
            writer.write(json.dumps(reply).encode() + b"\n")
        os._exit(0)  # the tests are over; to close the engine properly takes longer

    async def _obey(self, order: dict[str, Any]) -> Any:
        match order:
            case {"accept": True}:
                await self._accept()
            case {"refuse": True}:
                await self._refuse()
            case {"fault": fault}:
                self._http.faults.append(Fault(**fault))
            case {"clear": True}:
                self._http.clear()
            case {"sql": sql, "database": database}:
                try:
                    return {"rows": await asyncio.to_thread(self._engine.rows, sql, database)}
                except ClickHouseError as error:
                    return {"error": error.text}
        return None

    async def _accept(self) -> None:
        if self._site is None:
            self._site = web.TCPSite(self._runner, self._host, self._port, reuse_port=True, ssl_context=self._tls)
            await self._site.start()

    async def _refuse(self) -> None:
        if self._site is None or self._runner.server is None:
            return
        await self._site.stop()
        self._site = None
        for connection in self._runner.server.connections:
            if connection.transport:
                connection.transport.abort()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument(
        "control", type=int, help="file descriptor of a socket: a line of JSON for each order and reply"
    )
    parser.add_argument("account", help="name:password")
    parser.add_argument("--certificate", help="serve HTTPS with this PEM file of a certificate and its key")
    given = parser.parse_args()
    server = Server(given.directory, given.host, given.port, given.account, given.certificate)
    asyncio.run(server.run(socket.socket(fileno=given.control)))
