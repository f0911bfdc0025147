"""A Stripe on loopback that keeps customers, checkouts and subscriptions, and writes events about them."""

import asyncio
import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from servers import OPEN, Receiver, response

from waypost.kit.signing import signature

KEY, SECRET = "sk_test_1", "whsec_1"
PRICES = {"price_month": {"interval": "month"}, "price_life": None}


class ScriptedStripe:
    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], dict[str, str]]] = []
        self.customers: dict[str, dict[str, str]] = {}
        self.checkouts: dict[str, dict[str, Any]] = {}
        self.subscriptions: list[dict[str, Any]] = []
        self.is_down = False
        self.before_answer: Any = None
        """Called once, after the subscriptions for the response were read."""
        self._events = 0

    def server(self) -> Receiver:
        self._receiver = Receiver(self, host=OPEN)
        return self._receiver

    def subscribe(self, customer: str, status: str, **more: Any) -> dict[str, Any]:
        number = len(self.subscriptions) + 1
        items = {"data": [{"current_period_end": 1_900_000_000}]}
        made = {"id": f"sub_{number}", "customer": customer, "status": status, "created": number, "cancel_at": None}
        self.subscriptions.append(made | {"items": items} | more)
        return self.subscriptions[-1]

    def event(self, kind: str, subject: dict[str, Any]) -> bytes:
        self._events += 1
        return json.dumps({"id": f"evt_{self._events}", "type": kind, "data": {"object": subject}}).encode()

    async def __call__(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        lines = head.decode().split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        body = self._receiver.bodies[-1]
        parts = urlsplit(target)
        fields = dict(parse_qsl(parts.query or body.decode()))
        self.requests.append((method, parts.path.removeprefix("/v1/"), fields, headers))
        is_known = headers.get("authorization") == f"Bearer {KEY}"
        status, found = self._answer(method, parts.path.removeprefix("/v1/"), fields) if is_known else (401, {})
        text = json.dumps(found).encode()
        if self.before_answer and parts.path.endswith("/subscriptions"):
            before, self.before_answer = self.before_answer, None
            await before()
        writer.write(response(500, b"") if self.is_down else response(status, text))
        await writer.drain()

    def _answer(self, method: str, path: str, fields: dict[str, str]) -> tuple[int, dict[str, Any]]:  # noqa: PLR0911
        match method, path.split("/"):
            case "POST", ["customers"]:
                made = f"cus_{len(self.customers) + 1}"
                self.customers[made] = fields
                return 200, {"id": made}
            case "GET", ["prices", price] if price in PRICES:
                return 200, {"id": price, "recurring": PRICES[price]}
            case "POST", ["checkout", "sessions"]:
                made = f"cs_{len(self.checkouts) + 1}"
                self.checkouts[made] = {
                    "id": made,
                    "mode": fields["mode"],
                    "customer": fields["customer"],
                    "payment_status": "unpaid",
                    "status": "open",
                    "metadata": {"waypost_account": fields["metadata[waypost_account]"]},
                    "url": f"https://checkout.stripe.test/{made}",
                }
                return 200, self.checkouts[made]
            case "GET", ["checkout", "sessions", checkout] if checkout in self.checkouts:
                return 200, self.checkouts[checkout]
            case "POST", ["billing_portal", "sessions"]:
                return 200, {"url": f"https://billing.stripe.test/{fields['customer']}"}
            case "GET", ["subscriptions"]:
                its = [each for each in self.subscriptions if each["customer"] == fields["customer"]]
                return 200, {"data": [each for each in its if "status" in fields or each["status"] != "canceled"]}
        return self._ending(method, path, fields)

    def _ending(self, method: str, path: str, fields: dict[str, str]) -> tuple[int, dict[str, Any]]:
        match method, path.split("/"):
            case "GET", ["checkout", "sessions"]:
                its = [each for each in self.checkouts.values() if each["customer"] == fields["customer"]]
                return 200, {"data": [each for each in its if each["status"] == fields["status"]], "has_more": False}
            case "POST", ["checkout", "sessions", checkout, "expire"] if self.checkouts[checkout]["status"] == "open":
                self.checkouts[checkout]["status"] = "expired"
                return 200, self.checkouts[checkout]
            case "DELETE", ["subscriptions", subscription]:
                its = [each for each in self.subscriptions if each["id"] == subscription]
                if its and its[0]["status"] != "canceled":
                    its[0]["status"] = "canceled"
                    return 200, its[0]
        return 404, {"error": {"message": "No such thing."}}


def signed(body: bytes, at: float, secret: str = SECRET) -> dict[str, str]:
    return {"Stripe-Signature": f"{signature(secret, int(at), body)},v0=old"}
