"""The verification code of docs/guides/webhooks.md, as it is: it believes what Waypost signs, and nothing else."""

import base64
import hmac
import json
import os
import re
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from http.server import HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx
import pytest
import trustme
from architecture.code import ROOT
from outbound.servers import ALLOW, OPEN, Receiver, always, response

from clients.typescript.generator.modules import NODE_MODULES
from waypost.database import KeyRing
from waypost.kit.ids import new_id
from waypost.kit.signing import TOLERANCE, new_secret, signature
from waypost.outbound import Outbound, Poster
from waypost.resources.clicks.intake.record_events import _pixel_events
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.schemas import to_event_json
from waypost.resources.links.schemas import LinkJson
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.delivery_limiter import WebhookReceiver
from waypost.resources.webhooks.model import webhooks
from waypost.resources.webhooks.outbox import WebhookEvent, build_payload
from waypost.resources.webhooks.queue import ClaimedDelivery
from waypost.resources.webhooks.service import MAX_WEBHOOKS

PAGE = (ROOT / "docs" / "guides" / "webhooks.md").read_text()
NOW = 1_795_143_376
SECRET = "whsec_" + "Aa0-_" * 8 + "xyz"
BODY = b'{"id":"01a1","event":"link.created","data":{"title":"x"}}'

Case = tuple[str, str | None, bytes]
"""Secret, X-Signature, body."""


def block(language: str, number: int = 0) -> str:
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return blocks[number]


def in_python(cases: Sequence[Case], _directory: Path) -> list[bool]:
    names: dict[str, object] = {}
    exec(block("python"), names)
    names["time"] = SimpleNamespace(time=lambda: NOW)
    return [names["is_genuine"](*case) for case in cases]


NODE = """
Date.now = () => %d * 1000;
const cases = JSON.parse(require("node:fs").readFileSync(0));
console.log(JSON.stringify(cases.map(([secret, signature, body]) =>
    isGenuine(secret, signature ?? undefined, Buffer.from(body, "base64")))));
"""
PHP = """
function time() { return %d; }
$cases = json_decode(file_get_contents('php://stdin'));
echo json_encode(array_map(fn ($case) => is_genuine($case[0], $case[1], base64_decode($case[2])), $cases));
"""


def in_node(cases: Sequence[Case], directory: Path) -> list[bool]:
    node = shutil.which("node")
    assert node, "Node.js is missing: apt-get install nodejs (make test does it as root)"
    return outside([node], directory / "verify.cjs", block("js") + NODE % NOW, cases)


def in_php(cases: Sequence[Case], directory: Path) -> list[bool]:
    php = shutil.which("php")
    if not php:
        pytest.skip("PHP is missing: apt-get install php-cli (make test does it as root)")
    code = block("php").replace("<?php\n", "<?php\nnamespace Receiver;\n", 1)  # where the clock is ours
    return outside([php, "-n", "-d", "display_errors=stderr"], directory / "verify.php", code + PHP % NOW, cases)


def outside(command: list[str], file: Path, code: str, cases: Sequence[Case]) -> list[bool]:
    file.write_text(code)
    sent = json.dumps([(secret, signed, base64.b64encode(body).decode()) for secret, signed, body in cases])
    done = subprocess.run([*command, file], input=sent, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


each_language = pytest.mark.parametrize("verify", [in_python, in_node, in_php])
Verify = Callable[[Sequence[Case], Path], list[bool]]


def believed(body: bytes, *, t: int = NOW, secret: str = SECRET) -> Case:
    return secret, signature(secret, t, body), body


def v1(t: object, body: bytes = BODY) -> str:
    """Of a `t` that no sender would write."""
    return hmac.digest(SECRET.encode(), f"{t}.".encode() + body, "sha256").hex()


GOOD = {
    "as it is sent": believed(BODY),
    "an empty body": believed(b""),
    "characters beyond ASCII": believed('{"title":"Grüße 🚀 \\u0000"}'.encode()),
    "bytes that are no text": believed(bytes(range(256))),
    "line ends and blanks kept": believed(b' {"a": 1}\r\n\n'),
    "a body with a dot and digits": believed(b"1.2,v1="),
    "as late as may be": believed(BODY, t=NOW - TOLERANCE),
    "as early as may be": believed(BODY, t=NOW + TOLERANCE),
    "a secret beyond ASCII": believed(BODY, secret="schlüssel"),
}
_, SIGNED, _ = GOOD["as it is sent"]
HEX = SIGNED.partition(",v1=")[2]
BAD = {
    "another body": (SECRET, SIGNED, BODY[:-1] + b" }"),
    "a byte more": (SECRET, SIGNED, BODY + b"\n"),
    "the body gone": (SECRET, SIGNED, b""),
    "another secret": ("whsec_other", SIGNED, BODY),
    "the secret without its beginning": (SECRET.removeprefix("whsec_"), SIGNED, BODY),
    "another time": (SECRET, SIGNED.replace(str(NOW), str(NOW + 1)), BODY),
    "too late": believed(BODY, t=NOW - TOLERANCE - 1),
    "too early": believed(BODY, t=NOW + TOLERANCE + 1),
    "no header": (SECRET, None, BODY),
    "an empty header": (SECRET, "", BODY),
    "no signature": (SECRET, f"t={NOW}", BODY),
    "no time": (SECRET, f"v1={HEX}", BODY),
    "an empty signature": (SECRET, f"t={NOW},v1=", BODY),
    "half a signature": (SECRET, f"t={NOW},v1={HEX[:32]}", BODY),
    "one digit less": (SECRET, SIGNED[:-1], BODY),
    "one digit more": (SECRET, SIGNED + "0", BODY),
    "upper case": (SECRET, f"t={NOW},v1={HEX.upper()}", BODY),
    "no hex": (SECRET, f"t={NOW},v1={'g' * 64}", BODY),
    "no ASCII": (SECRET, f"t={NOW},v1={'é' * 64}", BODY),
    "another order": (SECRET, f"v1={HEX},t={NOW}", BODY),
    "a line more": (SECRET, SIGNED + "\n", BODY),
    "a blank before": (SECRET, " " + SIGNED, BODY),
    "blanks between": (SECRET, f"t={NOW}, v1={HEX}", BODY),
    "two of them": (SECRET, f"{SIGNED},{SIGNED}", BODY),
    "a negative time": (SECRET, f"t=-{NOW},v1={v1(-NOW)}", BODY),
    "a fraction of time": (SECRET, f"t={NOW}.0,v1={v1(f'{NOW}.0')}", BODY),
    "a time beyond numbers": (SECRET, f"t={'9' * 400},v1={v1('9' * 400)}", BODY),
    "digits of other scripts": (SECRET, f"t=١٧٩٥,v1={v1('١٧٩٥')}", BODY),
    "words for a time": (SECRET, f"t=now,v1={v1('now')}", BODY),
}


@each_language
def test_accepts_a_signed_delivery(verify: Verify, tmp_path: Path) -> None:
    found = verify(list(GOOD.values()), tmp_path)
    assert [name for name, is_believed in zip(GOOD, found, strict=True) if is_believed is not True] == []


@each_language
def test_refuses_all_other_requests(verify: Verify, tmp_path: Path) -> None:
    found = verify(list(BAD.values()), tmp_path)
    assert [name for name, is_believed in zip(BAD, found, strict=True) if is_believed is not False] == []


@pytest.fixture
async def received(tmp_path: Path) -> tuple[bytes, bytes]:
    return await deliver(tmp_path, SECRET, NOW)


async def deliver(tmp_path: Path, secret: str, now: int) -> tuple[bytes, bytes]:
    """Return head and body of a delivery, as they came over TLS."""
    authority, tls = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert(OPEN).configure_cert(tls)
    keys, webhook, at = KeyRing(["key"]), new_id(), datetime.fromtimestamp(now, UTC)
    poster = Poster(Outbound(allow=ALLOW, ca_file=tmp_path / "ca.pem"))
    deliverer = Deliverer(poster.post, keys, clock=lambda: at, timeout=30, backoff=(1, 1, 1, 1))
    delivery = new_id()
    async with Receiver(always(response(204)), tls=tls) as receiver:
        claimed = ClaimedDelivery(
            id=delivery,
            receiver=WebhookReceiver(webhook, new_id(), OPEN),
            url=receiver.url("/hook"),
            secret=keys.encrypt(webhooks.c.secret, webhook, secret),
            event="link.created",
            body=build_payload(
                delivery, WebhookEvent("link.created", new_id(), new_id(), at, {"title": "Grüße 🚀 \ud800"})
            ),
            attempt=1,
            created_at=at,
            leased_until=at,
        )
        settled = await deliverer.run(claimed)
        await poster.close()
    assert settled.status == "delivered"
    return receiver.heads[0], receiver.bodies[0]


@each_language
def test_accepts_what_the_service_sends(verify: Verify, received: tuple[bytes, bytes], tmp_path: Path) -> None:
    head, body = received
    [signed] = re.findall(r"^x-signature: (.*)\r$", head.decode(), re.MULTILINE | re.IGNORECASE)
    parsed = json.dumps(json.loads(body)).encode()
    assert verify([(SECRET, signed, body), (SECRET, signed, parsed)], tmp_path) == [True, False]


async def test_standard_webhooks_accepts_what_the_service_sends(tmp_path: Path) -> None:
    library = pytest.importorskip("standardwebhooks", reason="standardwebhooks is missing: make test installs it")
    node = shutil.which("node")
    assert node, "Node.js is missing: apt-get install nodejs (make test does it as root)"
    secret = new_secret()
    head, body = await deliver(tmp_path, secret, int(time.time()))
    headers = dict(re.findall(r"^([\w-]+): (.*)\r$", head.decode(), re.MULTILINE))
    names: dict[str, Any] = {"secret": secret, "headers": headers, "body": body}
    exec(block("python", 1), names)
    assert names["delivery"] == json.loads(body)
    with pytest.raises(library.WebhookVerificationError):
        exec(block("python", 1), names | {"secret": new_secret()})
    read, write = 'JSON.parse(require("node:fs").readFileSync(0))', "console.log(JSON.stringify(delivery));"
    done = subprocess.run(
        [node, "-e", f"const [secret, headers, body] = {read};\n{block('js', 1)}{write}"],
        input=json.dumps([secret, headers, body.decode()]),
        env={**os.environ, "NODE_PATH": str(NODE_MODULES)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (json.loads(done.stdout or "null"), done.stderr) == (json.loads(body), "")


def test_the_receiver_prints_signed_deliveries_and_refuses_others(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SECRET", SECRET)
    names: dict[str, Any] = {"__name__": "receiver"}
    exec(f"{block('python')}\n{block('py')}", names)
    names["time"] = SimpleNamespace(time=lambda: NOW)
    with HTTPServer(("127.0.0.1", 0), names["Receiver"]) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        statuses = [httpx.post(url, content=BODY, headers={"X-Signature": text}).status_code for text in (SIGNED, "x")]
        server.shutdown()
    assert statuses == [204, 400]
    assert capfd.readouterr().out == "01a1 link.created {'title': 'x'}\n"


def test_the_example_is_consistent() -> None:
    [request] = re.findall(r"^```http\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    head, _, body = request.partition("\n\n")
    headers = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    assert headers["X-Webhook-Timestamp"] == str(NOW)
    assert re.fullmatch(rf"t={NOW},v1=[0-9a-f]{{64}}", headers["X-Signature"])
    shown = json.loads(body.replace("{…}", "{}"))
    assert (shown["id"], shown["event"]) == (headers["X-Delivery-Id"], headers["X-Event-Type"])
    assert datetime.fromisoformat(shown["created_at"]).timestamp() == NOW
    assert UUID(shown["id"]).version == 7


def test_events_have_the_fields_of_the_service() -> None:
    page = (ROOT / "docs" / "reference" / "events.md").read_text()
    shown = [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]
    click = Click(*(new_id().bytes for _ in range(3)), at=0, day=0, quarter=0, pixels=[("facebook", new_id())])
    [pixel_fired] = _pixel_events(click)
    data = {
        "link.created": dict.fromkeys(LinkJson.__annotations__),
        "link.clicked": to_event_json(click),
        "pixel.fired": pixel_fired.data,
        "webhook.test": {"webhook_id": None},
    }
    assert [each["event"] for each in shown] == list(data)
    for each in shown:
        sent = json.loads(build_payload(new_id(), replace(pixel_fired, data=data[each["event"]])))
        assert (list(each), list(each["data"])) == (list(sent), list(sent["data"]))


def test_documents_the_limit_of_subscriptions() -> None:
    assert f"creates a subscription; at most {MAX_WEBHOOKS} for an account" in PAGE
