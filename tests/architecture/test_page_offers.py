"""No page offers what the role of its reader does not allow: a crawl of all links and forms as each role."""

from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx
import pytest
from architecture.crawler import Offer, offers_of
from architecture.dashboard import Dashboard, Member, new_team
from architecture.running import BASE_URL
from browser.furnished import LONG
from starlette.routing import Match

from waypost.accounts import roles
from waypost.accounts.model import ROLES, Role
from waypost.web.dashboard.pages import PageRoute

pytestmark = pytest.mark.asyncio(loop_scope="module")
OTHERS = ("/assets/", "/manifest.json", "/api/openapi.json", "/api/v1/qrcodes/", "/spring-", f"/{LONG}")
"""Beginnings of paths that are no pages, and are for everybody: the last are short links."""
UNREACHED = {
    "/account/passkeys/{id}/remove": "the members have no passkey",
    "/account/required": "for members who lack a factor that the account requires",
    "/account/two-factor/recovery-codes": "the members have no second factor",
    "/account/two-factor/remove": "the members have no second factor",
    "/domains/{id}/addresses": "for domains without a CNAME record",
    "/links/bulk/{id}": "the result of a change of many links",
    "/links/card-image": "requested by a script",
    "/links/find": "requested by a script",
    "/plan/paid": "Stripe leads there",
    "/stats/views/{id}/edit": "viewers have no views of their own",
}
_PER_ROUTE = 6
"""Pages of one path: some show a domain, a link or an import of each kind."""


class Crawl:
    """Of one member: every page that is offered, and the targets of links and forms that would be refused."""

    def __init__(self, dashboard: Dashboard, member: Member, role: Role | None) -> None:
        self.refused: list[str] = []
        self.visited: Counter[str] = Counter()
        self._dashboard = dashboard
        self._member = member
        self._role = role
        self._seen: set[Offer] = set()

    async def follow(self, *starts: str) -> None:
        pages = [Offer("GET", start) for start in starts]
        while pages:
            page = pages.pop()
            answer = await self._get(page)
            if "html" not in answer.headers.get("content-type", ""):
                continue
            for offer in sorted(offers_of(f"{BASE_URL}{page.url}", answer.text) - self._seen):
                self._seen.add(offer)
                if self._is_visited(page, offer):
                    pages.append(offer)

    async def _get(self, page: Offer) -> httpx.Response:
        headers = {"Cookie": f"waypost={self._member.cookie}"} | ({"HX-Request": "true"} if page.is_fragment else {})
        answer = await self._dashboard.client.get(page.url, headers=headers)
        if answer.status_code >= 400 and page.url not in STARTS:
            self.refused.append(f"{page.url}: {answer.status_code}")
        return answer

    def _is_visited(self, page: Offer, offer: Offer) -> bool:
        """Check the offer, and return whether it is a page to be visited."""
        route = self._find(offer)
        if route is None:
            if not offer.url.startswith(OTHERS):
                self.refused.append(f"{page.url}: {offer.method} {offer.url} does not exist")
            return False
        if not is_allowed(self._role, route):
            self.refused.append(f"{page.url}: {offer.method} {offer.url}")
            return False
        self.visited[route.path] += offer.method == "GET"
        return offer.method == "GET" and not route.path.endswith("/live") and self.visited[route.path] <= _PER_ROUTE

    def _find(self, offer: Offer) -> PageRoute | None:
        scope = {"type": "http", "method": offer.method, "path": urlsplit(offer.url).path}
        return next((route for route in self._dashboard.routes if route.matches(scope)[0] is Match.FULL), None)


STARTS = ("/", "/account/accounts", "/account/verify", "/links/new", "/account/delete", "/nothing-here", "/links")
"""Some are refused, or not found: their pages offer something, too."""


def is_allowed(role: Role | None, route: PageRoute) -> bool:
    if role is None and route.path == "/":  # it leads to the list of accounts
        return True
    if route.access in {"public", "person"}:
        return True
    return role is not None and route.access in roles.LEAST_ROLE and roles.may(role, route.access)


@pytest.mark.parametrize("role", ROLES)
async def test_offers_only_what_the_role_allows(dashboard: Dashboard, role: Role) -> None:
    """In an account with some of everything, and in an empty one."""
    refused: Sequence[str] = []
    visited = set(STARTS)
    for account in (dashboard.seeded.ada.account.id, None):
        team = await new_team(dashboard.db, account)
        crawl = Crawl(dashboard, team.members[role], role)
        await crawl.follow(*STARTS)
        refused = [*refused, *crawl.refused]
        visited |= crawl.visited.keys()
    assert refused == []
    pages = {route.path for route in dashboard.routes if "GET" in route.methods and route.access != "public"}
    allowed = {route.path for route in dashboard.routes if is_allowed(role, route)}
    assert (pages & allowed) - visited - UNREACHED.keys() == set()


async def test_offers_no_account_to_former_members(dashboard: Dashboard) -> None:
    crawl = Crawl(dashboard, (await new_team(dashboard.db)).former, None)
    await crawl.follow(*STARTS)
    assert crawl.refused == []
