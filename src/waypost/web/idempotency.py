"""`Idempotency-Key`: a POST that is sent again gets the stored answer, and nothing runs a second time.

The guard claims the key once the caller is known. The middleware stores the answer before it is sent.
"""

import hashlib
import re
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.database import Database, KeyRing
from waypost.idempotency import Answer, Claim, StoredAnswers
from waypost.idempotency.model import MAX_KEY
from waypost.idempotency.service import FIELD
from waypost.kit.clock import Clock
from waypost.kit.errors import Invalid, WaypostError
from waypost.web.body import MAX_BODY, read_once
from waypost.web.envelope import DESTINATION_CHECK, JsonResponse, error_response

_CLAIM = "waypost.idempotency"
"""Key in the ASGI scope: the claim of this request."""
_COLON, _EMPTY_LINE = b": ", b"\r\n\r\n"
"""Of the header that a stored answer may begin with. Its JSON contains no such line."""
_KEY = re.compile(rf"[\x21-\x7e]{{1,{MAX_KEY}}}")
WRONG_KEY = f"Send one key of 1 to {MAX_KEY} visible ASCII characters, such as a UUID."

PARAMETER = {
    "name": FIELD,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]+$"},
    "example": "8f14e45f-ceea-467f-a0e6-8a5f6d2b1c37",
    "description": (
        "A new value for each request, such as a UUID. A request that is sent again with the same key within 24 hours"
        " gets the same response, with `Idempotent-Replayed: true`, and changes nothing."
    ),
}


class IdempotencyKeys:
    def __init__(self, db: Database, key_ring: KeyRing, clock: Clock) -> None:
        self._answers = StoredAnswers(db, key_ring, clock)

    async def claim(self, request: Request, account: UUID) -> UUID:
        """Claim the key, and return the id of the request, which other attempts after a killed process share.

        Raises Replay, Invalid, InProgress, TooLarge and Unavailable.
        """
        keys = request.headers.getlist(FIELD)
        if len(keys) != 1 or not _KEY.fullmatch(keys[0]):
            raise Invalid({FIELD: [WRONG_KEY]})
        body = await read_once(request, MAX_BODY)
        digest = hashlib.sha256(request.scope["path"].encode() + b"\0" + body).digest()
        claimed = await self._answers.claim(account, keys[0], digest)
        if isinstance(claimed, Answer):
            raise Replay(claimed)
        request.scope[_CLAIM] = claimed
        return claimed.request_id


class Replay(Exception):
    """The request was answered before."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


class StoreAnswers:
    """Holds back the response to a request with a key until it is stored."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        started: Message = {}
        body = bytearray()

        async def store_and_send(message: Message) -> None:
            if _CLAIM not in scope:
                await send(message)
            elif message["type"] == "http.response.start":
                started.update(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    await _finish(scope.pop(_CLAIM), started, bytes(body))
                    await send(started)
                    await send({"type": "http.response.body", "body": bytes(body)})

        try:
            await self._app(scope, receive, store_and_send)
        except _NotStored as failure:
            await error_response(failure.error)(scope, receive, send)
        finally:
            if _CLAIM in scope:
                await scope.pop(_CLAIM).release()


class _NotStored(Exception):
    def __init__(self, error: WaypostError) -> None:
        self.error = error


async def _finish(claim: Claim, started: Message, body: bytes) -> None:
    """Only successful answers are stored: a refused request may be corrected and sent again."""
    if not 200 <= started["status"] < 300:
        await claim.release()
        return
    kept = [name + _COLON + value for name, value in started["headers"] if name == DESTINATION_CHECK.lower().encode()]
    try:
        await claim.save(Answer(started["status"], _EMPTY_LINE.join([*kept, body])))
    except BaseException as error:
        await claim.release()
        if isinstance(error, WaypostError):
            raise _NotStored(error) from error
        raise


async def show_replay(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Replay)  # noqa: S101  # registered for these alone
    status, stored = error.answer
    kept, _, body = stored.rpartition(_EMPTY_LINE)
    headers = dict([kept.decode().split(_COLON.decode())] if kept else [])
    return Response(body, status, {**headers, "Idempotent-Replayed": "true"}, media_type=JsonResponse.media_type)
