"""A page more. `test_add_a_page` adds that to rename a pixel to a copy of the package, and runs this there."""

import httpx
from architecture.dashboard import EMPTY_FORM, new_team
from architecture.running import RunningApp


async def test_shows_a_form_that_changes_the_pixel(running: RunningApp) -> None:
    account = await running.account()
    pixel = await running.pixel(await running.key(account, ["pixels:read", "pixels:write"]), name="Old")
    members, path = (await new_team(running.db, account)).members, f"/pixels/{pixel['id']}"

    async def ask(method: str, path: str, role: str, **fields: str) -> httpx.Response:
        headers = EMPTY_FORM | {"Cookie": f"waypost={members[role].cookie}"}
        return await running.client.request(method, path, headers=headers, data=fields or None)

    assert f'href="{path}/name"' in (await ask("GET", path, "admin")).text
    assert f'href="{path}/name"' not in (await ask("GET", path, "viewer")).text
    assert "Rename pixel" in (await ask("GET", f"{path}/name", "admin")).text
    refused = await ask("POST", f"{path}/name", "admin", name="x" * 300)
    assert (refused.status_code, 'aria-invalid="true"' in refused.text) == (422, True)
    sent = await ask("POST", f"{path}/name", "admin", name="New")
    shown = await ask("GET", sent.headers["location"], "admin")
    assert ("Pixel renamed." in shown.text, "<title>New" in shown.text) == (True, True)
