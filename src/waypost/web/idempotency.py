"""`Idempotency-Key`: a POST that is sent again gets the stored answer, and nothing runs a second time."""

import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import ApiCaller
from waypost.database import Database, KeyRing
from waypost.idempotency import Answer, Claim, StoredAnswers
from waypost.idempotency.model import MAX_KEY
from waypost.idempotency.service import HEADER
from waypost.kit.clock import Clock
from waypost.kit.errors import Invalid
from waypost.web.body import MAX_BODY, read_once
from waypost.web.envelope import DESTINATION_CHECK, JsonResponse

_KEPT = DESTINATION_CHECK.lower().encode()
"""The header that is stored with the content."""
_COLON, _EMPTY_LINE = b": ", b"\r\n\r\n"
"""Of the header that a stored answer may begin with. Its JSON contains no such line."""
_KEY = re.compile(rf"[\x21-\x7e]{{1,{MAX_KEY}}}")
_QUOTED = re.compile(r'^"(.*)"$')
"""As a string of structured fields (RFC 9651): the quotes are not part of the key."""
WRONG_KEY = f"Send one key of 1 to {MAX_KEY} visible ASCII characters, such as a UUID."

PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]+$"},
    "example": "8f14e45f-ceea-467f-a0e6-8a5f6d2b1c37",
    "description": (
        "A new value for each request, such as a UUID. A request that is sent again with the same key within 24 hours"
        " gets the same response, with `Idempotent-Replayed: true`, and changes nothing. A key in double quotes is the"
        " same key as without them."
    ),
}


class IdempotencyKeys:
    def __init__(self, db: Database, key_ring: KeyRing, clock: Clock) -> None:
        self._answers = StoredAnswers(db, key_ring, clock)

    async def respond_once(
        self, request: Request, caller: ApiCaller, respond: Callable[[ApiCaller], Awaitable[Response]]
    ) -> Response:
        """Respond, and store the response; or return the one that is stored. Errors are raised, and so not stored.

        Raises Invalid, InProgress, TooLarge and Unavailable, and what `respond` raises.
        """
        claimed = await self._claim(request, caller.account.id)
        if isinstance(claimed, Answer):
            return _replay(claimed)
        try:
            response = await respond(replace(caller, claim=claimed))
            kept = [name + _COLON + value for name, value in response.raw_headers if name == _KEPT]
            await claimed.save(Answer(response.status_code, _EMPTY_LINE.join([*kept, response.body])))
        except BaseException:
            await claimed.release()
            raise
        return response

    async def _claim(self, request: Request, account: UUID) -> Claim | Answer:
        key = read_key(request)
        body = await read_once(request, MAX_BODY)
        digest = hashlib.sha256(request.scope["path"].encode() + b"\0" + body).digest()
        return await self._answers.claim(account, key, digest)


def read_key(request: Request) -> str:
    """Read the header, which the request has. Raises Invalid."""
    keys = [_QUOTED.sub(r"\1", text) for text in request.headers.getlist(HEADER)]
    if len(keys) != 1 or not _KEY.fullmatch(keys[0]):
        raise Invalid({HEADER: [WRONG_KEY]})
    return keys[0]


def _replay(answer: Answer) -> Response:
    kept, _, body = answer.body.rpartition(_EMPTY_LINE)
    headers = dict([kept.decode().split(_COLON.decode())] if kept else [])
    return Response(body, answer.status, {**headers, "Idempotent-Replayed": "true"}, media_type=JsonResponse.media_type)
