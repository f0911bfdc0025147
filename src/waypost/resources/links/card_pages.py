"""The picture of a card as its page names it, shown by us: our pages load nothing from elsewhere.

It is fetched like a destination, decoded and written anew, so that nothing but pixels comes through. Of
whatever cannot be fetched it says the same: who asks learns of no address whether anything is there.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.auth import Caller
from waypost.kit.errors import NotFound, Unavailable
from waypost.kit.urls import BadUrl, canonical
from waypost.outbound import OutboundError
from waypost.resources.links import media
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import MAX_BYTES, BadImage, CleanImage
from waypost.resources.links.rules import MAX_URL
from waypost.web.dashboard import SessionAuth

PATH = "/links/card-image"
_HEADERS = media.LOOKED_AT_ONLY | {
    "Cache-Control": "private, max-age=3600",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def routes(deps: Deps, auth: SessionAuth) -> list[Route]:
    async def show(request: Request) -> Response:
        session = await auth.session(request)
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin" or not auth.is_live(session):
            raise NotFound
        await auth.limit_expensive(session, "picture")
        image = await _fetched(deps, session, request.query_params.get("url", ""))
        return Response(image.content, media_type=media.TYPES[image.extension], headers=_HEADERS)

    return [Route(PATH, show, methods=["GET"])]


async def _fetched(deps: Deps, caller: Caller, address: str) -> CleanImage:
    """Raises NotFound, whatever the reason."""
    if len(address) > MAX_URL:
        raise NotFound
    try:
        content = await deps.destinations.fetch_image(canonical(address), account=caller.account.id, max_body=MAX_BYTES)
        return await deps.images.clean(content, account=caller.account.id)
    except (BadUrl, OutboundError, BadImage, Unavailable):
        raise NotFound from None
