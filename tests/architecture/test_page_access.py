"""Every page of the dashboard as every role, as a former member, with ids of another account, and signed out.

New pages are tested, too: parameters of paths need values in dashboard.py, and pages without a role are in facts.py.
"""

import re
from collections.abc import Mapping

import httpx
import pytest
from architecture.dashboard import Dashboard, Member, named, new_team
from architecture.facts import PERSONAL_PAGES, PUBLIC_PAGES

from waypost.accounts import create_account, roles, suspension
from waypost.accounts.model import ROLES
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.web.dashboard.pages import PageRoute

pytestmark = pytest.mark.asyncio(loop_scope="module")
STREAMS = {"/stats/live", "/links/{id:uuid}/live"}  # they do not end; tests/resources/clicks reads them
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


def path_of(route: PageRoute, ids: Mapping[str, Mapping[str, str]]) -> str:
    beginning = max((each for each in ids if route.path.startswith(each)), key=len, default="")
    return _PARAMETER.sub(lambda match: ids[beginning][match[1]], route.path)


def of_accounts(dashboard: Dashboard) -> list[PageRoute]:
    return [route for route in dashboard.routes if route.access in roles.LEAST_ROLE]


async def test_pages_without_a_role_are_known(dashboard: Dashboard) -> None:
    assert {route.path for route in dashboard.routes if route.access == "public"} == PUBLIC_PAGES
    assert {route.path for route in dashboard.routes if route.access == "person"} == PERSONAL_PAGES


@pytest.mark.parametrize("role", ROLES)
async def test_refuses_what_the_role_does_not_allow(dashboard: Dashboard, role: roles.Role) -> None:
    """Forms that are allowed are sent by members of an account that is empty: some would delete it."""
    team = await new_team(dashboard.db, dashboard.seeded.ada.account.id)
    ids = dashboard.ids
    wrong = []
    for route in of_accounts(dashboard):
        is_allowed = roles.may(role, route.access)
        if is_allowed and route.path in STREAMS:
            continue
        own = team if not is_allowed or "GET" in route.methods else await new_team(dashboard.db)
        answer = await dashboard.ask(route, path_of(route, ids), own.members[role])
        if is_refusal(answer) is is_allowed or answer.status_code >= 500:
            wrong.append((named(route), answer.status_code))
    assert wrong == []


def is_refusal(answer: httpx.Response) -> bool:
    return answer.status_code == 403 and "Not allowed" in answer.text


async def test_former_members_and_strangers_have_no_account(dashboard: Dashboard) -> None:
    team = await new_team(dashboard.db, dashboard.seeded.ada.account.id)
    assert await targets(dashboard, team.former) == {"/account/accounts"}
    assert {each.partition("?")[0] for each in await targets(dashboard, None)} == {"/login"}


async def targets(dashboard: Dashboard, member: Member | None) -> set[str]:
    """Where the pages of accounts redirect."""
    ids, found = dashboard.ids, set()
    for route in of_accounts(dashboard):
        answer = await dashboard.ask(route, path_of(route, ids), member)
        found.add(answer.headers["location"] if answer.status_code == 303 else f"{answer.status_code} {named(route)}")
    return found


async def test_members_of_a_suspended_account_can_only_export_it(dashboard: Dashboard) -> None:
    account = await create_account(
        dashboard.db, email=f"{new_id()}@example.com", name="Suspended", plan="lifetime", now=now(), trial_days=0
    )
    owner = (await new_team(dashboard.db, account.id)).members["owner"]
    async with dashboard.db.write() as tx:
        await suspension.suspend(tx, account.id, "Phishing", now())
    ids, wrong = dashboard.ids, []
    for route in of_accounts(dashboard):
        answer = await dashboard.ask(route, path_of(route, ids), owner)
        if (answer.status_code == 403) is (route.access == "account.export"):
            wrong.append(f"{answer.status_code} {named(route)}")
    assert wrong == []


async def test_signed_out_people_have_no_profile(dashboard: Dashboard) -> None:
    ids = dashboard.ids
    for route in [route for route in dashboard.routes if route.access == "person"]:
        answer = await dashboard.ask(route, path_of(route, ids), None)
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login"), named(route)


async def test_operator_pages_do_not_exist_for_owners(dashboard: Dashboard) -> None:
    owner = (await new_team(dashboard.db)).members["owner"]
    for route in [route for route in dashboard.routes if route.access == "operator"]:
        answer = await dashboard.ask(route, path_of(route, dashboard.ids), owner)
        assert answer.status_code == 404, named(route)


async def test_objects_of_another_account_are_not_found(dashboard: Dashboard) -> None:
    owner = (await new_team(dashboard.db)).members["owner"]
    ids = dashboard.ids
    wrong = []
    for route in of_accounts(dashboard):
        if "{id" in route.path:
            answer = await dashboard.ask(route, path_of(route, ids), owner)
            if answer.status_code != 404:
                wrong.append(f"{answer.status_code} {named(route)}")
    assert wrong == []
