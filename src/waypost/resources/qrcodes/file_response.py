"""Responses with many codes in one file. An account gets one at a time, so that they cannot fill the queue."""

from collections.abc import AsyncIterator
from functools import partial
from uuid import UUID

from starlette.responses import Response

from waypost.kit.errors import InProgress
from waypost.resources.qrcodes.deps import Deps
from waypost.web.streaming import StreamedResponse

RUNNING = "Another file with many codes is being made for this account. Wait until it has finished."
_STALL_TIMEOUT = 60.0
"""Seconds after which a response that is not read is aborted."""


def file_response(deps: Deps, account: UUID, chunks: AsyncIterator[bytes], media_type: str, name: str) -> Response:
    """Raises InProgress while the account gets another one."""
    if account in deps.sending:
        raise InProgress(RUNNING)
    deps.sending.add(account)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
    ended = partial(deps.sending.discard, account)
    return StreamedResponse(chunks, media_type, ended, headers=headers, read_timeout=_STALL_TIMEOUT)
