"""`waypost webhook listen` as a developer runs it: deliveries over sockets and TLS, and whatever else may come."""

import fcntl
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from forked import WAYPOST
from test_cli import Waypost

from waypost.commands.webhook_receiver import describe
from waypost.kit.signing import signature
from waypost.kit.urls import canonical
from waypost.outbound import Outbound

SECRET = "whsec_" + "a" * 43
BODY = json.dumps({"id": "01a1", "event": "link.created", "data": {"title": "Frühling"}}, ensure_ascii=False).encode()
READY = re.compile(r"Listening on (https?)://127\.0\.0\.1:(\d+)/ and responding with (\d+)\. Press Ctrl-C to stop\.\n")


class Listening:
    def __init__(self, directory: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [WAYPOST, "webhook", "listen", "--port", "0", *options],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            bufsize=1,
        )
        assert self.process.stdout
        assert self.process.stderr
        self.out, self.err = self.process.stdout, self.process.stderr
        found = READY.fullmatch(self.err.readline())
        assert found
        self.scheme, self.port = found[1], int(found[2])

    def talk(self, request: bytes, *, answered: bool = True) -> bytes:
        """What it answers until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as client:
            client.sendall(request)
            return b"".join(iter(lambda: client.recv(65_536), b"")) if answered else b""

    def post(self, body: bytes = BODY, **headers: str) -> bytes:
        return self.talk(request(body, **headers))

    def shown(self) -> tuple[str, str]:
        """The next delivery: its line without the time, and its body."""
        line = self.out.readline()
        body: list[str] = []
        while not body or body[-1] not in {"  }\n", "  end\n"}:
            body.append(self.out.readline())
            assert body[-1].startswith("  ")
        return line.partition("  ")[2], "".join(body)


def request(body: bytes, **headers: str) -> bytes:
    lines = {"Host": "receiver.test", "Content-Length": str(len(body))} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST / HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def delivery(body: bytes = BODY, secret: str = SECRET, event: str = "link.created") -> dict[str, str]:
    signed = signature(secret, int(time.time()), body)
    return {"X_Event_Type": event, "X_Delivery_Id": "01a1", "X_Signature": signed}


@contextmanager
def listening(directory: Path, *options: str, ends: int = signal.SIGTERM) -> Iterator[Listening]:
    started = Listening(directory, *options)
    try:
        yield started
        started.process.send_signal(ends)
        assert started.process.wait(60) == 0
        assert started.err.read() == ""
    finally:
        started.process.kill()
        started.process.wait()
        started.out.close()
        started.err.close()


def test_prints_verified_deliveries(tmp_path: Path) -> None:
    with listening(tmp_path, "--secret", SECRET, ends=signal.SIGINT) as receiver:
        assert receiver.post(**delivery()).startswith(b"HTTP/1.1 200 OK\r\n")
        line, body = receiver.shown()
        assert line == "link.created  01a1  verified\n"
        assert json.loads(body) == json.loads(BODY)
        assert '    "title": "Frühling"\n' in body


def test_marks_invalid_signatures(tmp_path: Path) -> None:
    with listening(tmp_path, "--secret", SECRET) as receiver:
        for headers, reason in (
            (delivery(secret="whsec_other"), "the signature does not match the body and the secret"),
            (
                delivery() | {"X_Signature": signature(SECRET, int(time.time()) - 310, BODY)},
                "the signature's time is more than 300 seconds away",
            ),
            ({}, "the signature is missing or malformed"),
            ({"X_Signature": "\xff\xfe"}, "the signature is missing or malformed"),
        ):
            assert receiver.post(**headers).startswith(b"HTTP/1.1 200")
            assert receiver.shown()[0].endswith(f"  NOT verified: {reason}\n")


def test_prints_unverified_without_a_secret(tmp_path: Path) -> None:
    with listening(tmp_path) as receiver:
        receiver.post(**delivery())
        assert receiver.shown()[0] == "link.created  01a1  not verified: no secret given\n"


@pytest.mark.parametrize("status", [204, 302, 500])
def test_responds_with_the_chosen_status(tmp_path: Path, status: int) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    with listening(tmp_path, "--status", str(status), "--secret-file", "secret") as receiver:
        assert receiver.post(**delivery()).startswith(f"HTTP/1.1 {status} ".encode())
        assert receiver.shown()[0].endswith("  verified\n")


async def test_serves_https(tmp_path: Path) -> None:
    authority, certificate = trustme.CA(), tmp_path / "certificate.pem"
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    outbound = Outbound(allow=[ip_network("127.0.0.0/8")], ca_file=tmp_path / "ca.pem")
    with listening(tmp_path, "--secret", SECRET, "--certificate", "certificate.pem") as receiver:
        assert receiver.scheme == "https"
        headers = {name.replace("_", "-"): value for name, value in delivery().items()}
        url = canonical(f"https://127.0.0.1:{receiver.port}/hook")
        with socket.create_connection(("127.0.0.1", receiver.port)):  # one that never begins its handshake
            answer = await outbound.request("POST", url, headers=headers, body=BODY, deadline=30, max_body=10)
        assert answer.status == 200
        assert receiver.shown()[0].endswith("  verified\n")
        assert "A connection failed: " in receiver.err.readline()
        receiver.talk(request(BODY), answered=False)  # plain HTTP
        assert "A connection failed: " in receiver.err.readline()


def test_reads_a_separate_key_file(tmp_path: Path) -> None:
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "certificate.pem")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    with listening(tmp_path, "--certificate", "certificate.pem", "--key", "key.pem") as receiver:
        assert ssl.get_server_certificate(("127.0.0.1", receiver.port)).startswith("-----BEGIN")


@pytest.mark.parametrize(
    ("sent", "answer", "message"),
    [
        (request(b"", Content_Length=str(1 << 20 | 1)), b"HTTP/1.1 413 ", "code 413"),
        (request(b"", Content_Length="9" * 5_000), b"HTTP/1.1 413 ", "code 413"),
        (request(b"", Content_Length="-1"), b"HTTP/1.1 411 ", "code 411"),
        (request(b"", Content_Length="ten"), b"HTTP/1.1 411 ", "code 411"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"HTTP/1.1 411 ", "code 411"),
        (request(b"", **{f"X_{n}": "x" for n in range(200)}), b"HTTP/1.1 431 ", "code 431"),
        (request(b"", X=70_000 * "x"), b"HTTP/1.1 431 ", "code 431"),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 501 ", "code 501"),
        (b"\x1b]0;owned\x07 / HTTP/1.1\r\n\r\n", b"HTTP/1.1 501 ", r"\x1b]0;owned\x07"),
        (b"\x16\x03\x01\x9b nonsense\r\n\r\n", b"", "A request failed"),
    ],
)
def test_survives_malformed_requests(tmp_path: Path, sent: bytes, answer: bytes, message: str) -> None:
    with listening(tmp_path) as receiver:
        assert answer in receiver.talk(sent)
        line = receiver.err.readline()
        assert message in line
        assert line[:-1].isprintable()
        receiver.post()
        assert receiver.shown()[0].startswith("-  -  not verified")


def test_survives_disconnected_clients(tmp_path: Path) -> None:
    with listening(tmp_path) as receiver:
        receiver.talk(request(BODY)[:-5], answered=False)
        assert receiver.err.readline() == "A connection failed: the body ended too early\n"
        receiver.talk(b"POST / HT", answered=False)
        assert "A request failed" in receiver.err.readline()
        receiver.post()
        assert receiver.shown()[0].startswith("-  -  ")


def test_prints_concurrent_deliveries_separately(tmp_path: Path) -> None:
    with listening(tmp_path, "--secret", SECRET) as receiver:
        bodies = [json.dumps({"n": n, "list": [n] * 10_000}).encode() for n in range(20)]
        clients = [threading.Thread(target=receiver.post, args=[body], kwargs=delivery(body)) for body in bodies]
        for client in clients:
            client.start()
        found = [receiver.shown() for _ in bodies]
        for client in clients:
            client.join()
    assert {line for line, _ in found} == {"link.created  01a1  verified\n"}
    assert sorted(json.loads(body)["n"] for _, body in found) == list(range(20))


SIGNALED_EARLY = """
import signal, sys
from waypost.commands import webhook_receiver as receiver
remaining, say = int(sys.argv[1]), receiver.say
def signal_later(*_):
    global remaining
    remaining -= 1
    if remaining < 0:
        sys.setprofile(None)
        signal.raise_signal(signal.SIGTERM)
def say_and_signal(text):
    say(text)
    sys.setprofile(signal_later)
receiver.say = say_and_signal
sys.exit(receiver.listen(port=0, secret=None, status=200, tls=None))
"""


def test_ends_at_signals_that_come_as_it_begins_to_wait() -> None:
    """At each of the calls and returns then, and at a second signal if there are fewer."""
    started = [
        subprocess.Popen([sys.executable, "-c", SIGNALED_EARLY, str(number)], stderr=subprocess.PIPE, text=True)
        for number in range(8)
    ]
    try:
        for process in started:
            assert process.stderr
            assert READY.fullmatch(process.stderr.readline())
            process.terminate()
        assert [process.wait(60) for process in started] == [0] * len(started)
    finally:
        for process in started:
            process.kill()
            process.wait()
            assert process.stderr
            process.stderr.close()


def test_ends_when_stdout_is_closed(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [WAYPOST, "webhook", "listen", "--port", "0"], stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    os.close(writing)
    os.close(reading)
    assert process.stderr
    found = READY.fullmatch(process.stderr.readline())
    assert found
    with socket.create_connection(("127.0.0.1", int(found[2])), 30) as client:
        client.sendall(request(BODY))
        assert process.wait(60) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_ends_while_stdout_is_blocked(tmp_path: Path) -> None:
    with listening(tmp_path) as receiver:
        receiver.talk(request(b"[" + b"1," * 100_000 + b"1]"), answered=False)
        waiting = 0
        while waiting < 60_000:  # what the pipe has room for
            time.sleep(0.01)
            waiting = int.from_bytes(fcntl.ioctl(receiver.out.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)


# ── what is shown ───────────────────────────────────────────────────────────────────────────────────────────────────

AT = datetime(2026, 11, 20, 2, 56, 16, 123456, UTC)


def test_describes_a_delivery() -> None:
    headers = {"X-Signature": signature(SECRET, int(AT.timestamp()) + 299, b'{"a":1}')}
    assert describe(headers, b'{"a":1}', SECRET, AT) == (
        '2026-11-20T02:56:16.123456Z  -  -  verified\n  {\n    "a": 1\n  }\n'
    )


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": "\\u001b[2J\\u009b31m\\u202e\\ud800\x7f"}',
        b"\x1b]0;owned\x07\x9b31m\x00",
        "\N{RIGHT-TO-LEFT OVERRIDE}\x85\u2028 no JSON".encode(),
        b"\n2026-11-20T02:56:16.123456Z  link.created  01a1  verified\n",
        b"a\rb\r\nc",
        b"[" * 100_000,
        b"\xff\xfe[\x001\x00]\x00",
        b"9" * 10_000,
        b"",
    ],
)
def test_escapes_control_characters(body: bytes) -> None:
    headers = {"X-Event-Type": "\x1b[2J\r\n verified", "X-Delivery-Id": "\x9b\x7f"}
    line, *rest = describe(headers, body, None, AT).split("\n")
    assert r"\u001b[2J\r\n verified  \u009b\u007f  not verified" in line
    assert all(each.isprintable() for each in [line, *rest])
    assert all(each.startswith("  ") or not each.strip() for each in rest)


# ── what it refuses ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--port", "65536"], 2, "--port must be"),
        (["--port", "x"], 2, "--port"),
        (["--status", "199"], 2, "--status"),
        (["--status", "600"], 2, "--status"),
        (["--secret", ""], 2, "--secret: "),
        (["--secret", "a", "--secret-file", "certificate.pem"], 2, "--secret-file: "),
        (["--secret-file", "nowhere"], 2, "nowhere cannot be read"),
        (["--key", "certificate.pem"], 2, "--key: "),
        (["--certificate", "nowhere"], 2, "nowhere and its key cannot be used"),
        (["--certificate", "certificate.pem"], 2, "certificate.pem and its key cannot be used"),
        (["--certificate", "certificate.pem", "--key", "locked.pem"], 2, "cannot be used"),
    ],
)
def test_reports_wrong_options(tmp_path: Path, options: list[str], code: int, message: str) -> None:
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "certificate.pem")
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"open sesame"))
    (tmp_path / "locked.pem").write_bytes(locked)
    done = Waypost(tmp_path)("webhook", "listen", *options, code=code)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_reports_a_used_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = Waypost(tmp_path)("webhook", "listen", "--port", port, code=1)
    assert done.stderr == f"Port {port} cannot be used: Address already in use\n"
