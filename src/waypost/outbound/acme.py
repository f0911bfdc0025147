"""A client of certificate authorities: ACME (RFC 8555), with proofs over HTTP (HTTP-01) and nothing else.

Goes out through `Outbound` alone; every answer's size and every wait is bounded. The caller bounds the whole.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from waypost.kit.urls import BadUrl, canonical
from waypost.outbound.acme_keys import SigningKey
from waypost.outbound.acme_problems import (
    AcmeError,
    Down,
    Refused,
    of_our_account,
    problem_in,
    problem_of,
    retry_after,
)
from waypost.outbound.client import Outbound, OutboundResponse
from waypost.outbound.errors import NotPublic, OutboundError

DEADLINE = 20.0  # seconds of one request
MAX_ANSWER = 131_072  # bytes; a chain of certificates has some 6,000
_NONCES_KEPT = 16
_TRIES = 4  # of a request whose nonce is refused
_FIRST_LOOK, _LATER, _LONGEST_LOOK = 0.2, 1.6, 15.0  # seconds between looks at work of the authority, and their growth
_UNREACHABLE = "The certificate authority cannot be reached."
_OF_ACCOUNTS = {"unauthorized", "userActionRequired"}  # as answers to an order: before anything is proven
_NAMES_AT_MOST = 4  # proofs of one order: ours has one name

Prove = Callable[[str, str], Awaitable[None]]
"""Has the answer (second) served for the token (first) from now on."""


@dataclass(frozen=True, slots=True)
class Account:
    url: str
    key: SigningKey


class Document:
    """A JSON object of the authority's. What it should have and has not is the authority's fault."""

    def __init__(self, fields: object, url: str = "", wait: float | None = None) -> None:
        self._fields = fields if isinstance(fields, dict) else {}
        self.url = url
        self.wait = wait
        """Seconds after which to look again, as it asks."""

    @property
    def status(self) -> str:
        return self.text("status")

    def why_not(self) -> AcmeError:
        """Of an order that has come to a bad end, or of an authorization, whose challenges say it."""
        challenges = self._fields.get("challenges")
        parts = [self._fields, *(challenges if isinstance(challenges, list) else [])]
        errors = (part["error"] for part in parts if isinstance(part, dict) and "error" in part)
        return problem_in(next(errors, None))

    def text(self, name: str) -> str:
        value = self._fields.get(name)
        if not isinstance(value, str):
            raise _is_no_acme(name)
        return value

    def texts(self, name: str) -> Sequence[str]:
        return [value for value in self._list(name) if isinstance(value, str)]

    def documents(self, name: str) -> "Sequence[Document]":
        return [Document(value) for value in self._list(name)]

    def _list(self, name: str) -> list[object]:
        value = self._fields.get(name)
        if not isinstance(value, list):
            raise _is_no_acme(name)
        return value


class Acme:
    def __init__(self, outbound: Outbound, directory: str) -> None:
        self._outbound = outbound
        self.directory = directory
        self._known: Document | None = None
        self._nonces: deque[str] = deque(maxlen=_NONCES_KEPT)

    async def register(self, key: SigningKey, email: str = "") -> Account:
        """Agrees to the authority's terms. The account it has already of this key is the same one. Raises AcmeError."""
        wanted: dict[str, Any] = {"termsOfServiceAgreed": True}
        if email:
            wanted["contact"] = [f"mailto:{email}"]
        url = (await self._names()).text("newAccount")
        try:
            answer = await self._post(url, key, {"jwk": key.public()}, wanted)
        except Refused as refused:
            raise of_our_account(refused) from refused
        return Account(_location(answer), key)

    async def obtain(self, account: Account, hostname: str, request: str, prove: Prove) -> str:
        """The certificate with those behind it, in PEM, for a request of `SigningKey.request_for`.

        Raises AcmeError, and Refused with the kind `accountDoesNotExist` where the authority has forgotten us.
        """
        answer = await self._order(account, hostname)
        place = _location(answer)
        for authorization in _document(answer).texts("authorizations")[:_NAMES_AT_MOST]:
            await self._prove(account, authorization, prove)
        order = await self._until(account, place, {"ready", "valid"}, while_={"pending", "processing"})
        if order.status == "ready":
            await self._signed(account, order.text("finalize"), {"csr": request})
            order = await self._until(account, place, {"valid"}, while_={"ready", "processing"})
        chain = await self._signed(account, order.text("certificate"), None)
        return chain.body.decode("ascii", "replace")

    async def _order(self, account: Account, hostname: str) -> OutboundResponse:
        url = (await self._names()).text("newOrder")
        try:
            return await self._signed(account, url, {"identifiers": [{"type": "dns", "value": hostname}]})
        except Refused as refused:
            if refused.kind in _OF_ACCOUNTS:
                raise of_our_account(refused) from refused
            raise

    async def _prove(self, account: Account, url: str, prove: Prove) -> None:
        authorization = _document(await self._signed(account, url, None))
        if authorization.status == "valid":
            return  # by an earlier order
        offered = [each for each in authorization.documents("challenges") if each.text("type") == "http-01"]
        if not offered:
            raise Refused("", "The certificate authority does not let this name be proven over HTTP.")
        token = offered[0].text("token")
        await prove(token, f"{token}.{account.key.thumbprint()}")
        await self._signed(account, offered[0].text("url"), {})
        await self._until(account, url, {"valid"}, while_={"pending", "processing"})

    async def _until(self, account: Account, url: str, wanted: set[str], *, while_: set[str]) -> Document:
        """Looks again and again, as seldom as the authority asks."""
        pause = _FIRST_LOOK
        while True:
            found = _document(await self._signed(account, url, None), url)
            if found.status in wanted:
                return found
            if found.status not in while_:
                raise found.why_not()
            await asyncio.sleep(min(found.wait or pause, _LONGEST_LOOK))
            pause = min(pause * _LATER, _LONGEST_LOOK)

    async def _signed(self, account: Account, url: str, payload: Mapping[str, Any] | None) -> OutboundResponse:
        return await self._post(url, account.key, {"kid": account.url}, payload)

    async def _post(
        self, url: str, key: SigningKey, who: Mapping[str, Any], payload: Mapping[str, Any] | None
    ) -> OutboundResponse:
        for tries_left in reversed(range(_TRIES)):
            protected = {"nonce": await self._nonce(), "url": url, **who}
            try:
                return await self._ask("POST", url, key.sign(protected, payload))
            except Refused as refused:
                if refused.kind != "badNonce" or not tries_left:
                    raise
        raise AssertionError

    async def _nonce(self) -> str:
        if not self._nonces:
            await self._ask("HEAD", (await self._names()).text("newNonce"))
        if not self._nonces:
            raise _is_no_acme("Replay-Nonce")
        return self._nonces.popleft()

    async def _names(self) -> Document:
        """Where the authority does what. Asked for again once it has been out of order."""
        if self._known is None:
            self._known = _document(await self._ask("GET", self.directory))
        return self._known

    async def _ask(self, method: str, url: str, body: bytes | None = None) -> OutboundResponse:
        try:
            answer = await self._outbound.request(
                method,
                canonical(url, schemes=("https",)),
                headers={"Content-Type": "application/jose+json"} if body else None,
                body=body,
                deadline=DEADLINE,
                max_body=MAX_ANSWER,
            )
        except NotPublic as error:
            why = f"Its address is not a public one: {error}. WAYPOST_OUTBOUND_ALLOW opens a network to us."
            raise Down(f"{_UNREACHABLE} Whoever runs this service must see to that.", detail=why) from error
        except BadUrl as error:
            raise Down("The certificate authority named an address that is none.", detail=str(error)) from error
        except OutboundError as error:
            self._known = None
            raise Down(f"{_UNREACHABLE} It is tried again.", detail=str(error)) from error
        if nonce := answer.headers.get("Replay-Nonce", "")[:512]:
            self._nonces.append(nonce)
        if answer.status >= 300:
            raise self._noted(problem_of(answer))
        return answer

    def _noted(self, problem: AcmeError) -> AcmeError:
        if isinstance(problem, Down):
            self._known = None
        return problem


def _document(answer: OutboundResponse, url: str = "") -> Document:
    try:
        fields = answer.json()
    except ValueError:
        raise _is_no_acme("JSON") from None
    return Document(fields, url, retry_after(answer))


def _location(answer: OutboundResponse) -> str:
    url = answer.headers.get("Location", "")
    if not url:
        raise _is_no_acme("Location")
    return url


def _is_no_acme(missing: str) -> Down:
    return Down(f"What answers as the certificate authority does not speak ACME: its answer has no {missing}.")
