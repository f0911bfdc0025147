"""What an API key may do: what its scopes allow, and what the role of the person who made it allows."""

import subprocess

import pytest
from architecture.dashboard import new_team
from architecture.facts import CODES, ENDPOINTS, SCOPES, Endpoint
from architecture.running import RunningApp
from architecture.test_scopes import body
from forked import WAYPOST

from waypost.accounts import roles
from waypost.accounts.model import ROLES

pytestmark = pytest.mark.asyncio(loop_scope="module")
DOMAINS = ENDPOINTS["domains_create"]


@pytest.fixture
def running(shared_app: RunningApp) -> RunningApp:
    return shared_app


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
async def test_keys_of_all_roles(running: RunningApp, endpoint: Endpoint) -> None:
    team = await new_team(running.db)
    for role in ROLES:
        key = await running.key(team.account, SCOPES, created_by=team.members[role].person)
        answer = await running.ask(key, endpoint, "1", **body(running, endpoint))
        action = roles.ACTION_OF_SCOPE[endpoint.scope] if endpoint.scope else "view"
        assert (answer.status_code != 403) is roles.may(role, action), role
        if answer.status_code == 403:
            error = answer.json()["error"]
            assert error["code"] == CODES[403]
            assert f"role {role}" in error["message"]
            assert f"role {roles.LEAST_ROLE[action]}" in error["message"]
    key = await running.key(team.account, SCOPES, created_by=team.former.person)
    answer = await running.ask(key, endpoint, "1", **body(running, endpoint))
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, CODES[401])


async def test_scopes_limit_the_keys_of_owners(running: RunningApp) -> None:
    team = await new_team(running.db)
    key = await running.key(team.account, ["domains:read"], created_by=team.members["owner"].person)
    answer = await running.ask(key, DOMAINS, **body(running, DOMAINS))
    assert (answer.status_code, " domains:write " in answer.text) == (403, True)


async def test_a_role_changed_by_another_process_counts_at_the_next_request(running: RunningApp) -> None:
    team = await new_team(running.db)
    admin = team.members["admin"]
    key = await running.key(team.account, SCOPES, created_by=admin.person)
    assert (await running.ask(key, DOMAINS, **body(running, DOMAINS))).status_code == 201
    lower = [WAYPOST, "member", "role", admin.email, "editor", "--account", team.email]
    environment = {"WAYPOST_DATA_DIR": str(running.db.path.parent)}
    done = subprocess.run(lower, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    answer = await running.ask(key, DOMAINS, **body(running, DOMAINS))
    assert (answer.status_code, "role editor" in answer.text) == (403, True)
    page = await running.client.get("/pixels/new", headers={"Cookie": f"waypost={admin.cookie}"})
    assert (page.status_code, "Not allowed" in page.text) == (403, True)
