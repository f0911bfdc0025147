"""A suspended account on the running service: every process, restarts, and commands that are killed."""

import signal
from pathlib import Path

import forked
import httpx
from journeys.service import OWNER, Service, Website, eventually

REASON = "Phishing on several links"


def visit(service: Service, path: str) -> set[int]:
    """The answers of as many connections as reach every process."""
    found = set()
    for _ in range(8):
        with httpx.Client(base_url=service.base_url, trust_env=False, timeout=60) as client:
            found |= {client.get(path).status_code for _ in range(2)}
    return found


def test_takes_effect_at_once_in_every_process_and_survives_restarts(database_url: str, tmp_path: Path) -> None:
    settings = {"WAYPOST_DATABASE_URL": database_url, "WAYPOST_CONTACT_EMAIL": "abuse@example.com"}
    with Website() as page, Service(tmp_path, options=("--workers", "2"), **settings) as service:
        link = service.client.post("/api/v1/links", json={"slug": "sale", "destination_url": page.url}).json()["data"]
        code = service.client.get(f"/api/v1/links/{link['id']}/qrcode").json()["data"]["image_url"]
        assert visit(service, "/sale") == {302}
        assert visit(service, "/sale+") == {200}

        done = service.json("account", "suspend", OWNER, "--reason", REASON)
        assert (done["suspended_reason"], bool(done["suspended_at"])) == (REASON, True)
        assert visit(service, "/sale") == visit(service, "/sale+") == {404}
        for _ in range(4):  # through every process
            with httpx.Client(base_url=service.base_url, trust_env=False, headers=service.client.headers) as client:
                refused = client.get("/api/v1/links")
                assert refused.status_code == 403
                message = f"This account is suspended: {REASON}. Contact abuse@example.com."
                assert refused.json()["error"] == {"code": "forbidden", "message": message}
        assert httpx.get(code, trust_env=False, timeout=60).status_code == 200, "images of QR codes stay"

        service.kill("parent")
        service.ended()
        service.spawn()
        eventually(lambda: service.client.get("/readyz").status_code == 200)
        assert visit(service, "/sale") == {404}

        assert service.json("account", "resume", OWNER)["suspended_at"] is None
        assert visit(service, "/sale") == {302}
        assert service.client.get("/api/v1/links").status_code == 200


SUSPEND = """
import asyncio, os, signal, sys
from waypost import accounts
from waypost.audit import Actor
from waypost.database import Database
from waypost.kit.clock import now
from waypost.composition import new_context
from waypost.resources.operator.suspension import suspend
from waypost.settings import Settings

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

calls = 0
def clock():  # for the second time inside the transaction
    global calls
    calls += 1
    if sys.argv[3] == "before" and calls == 2:
        die()
    return now()

async def main():
    db = Database(sys.argv[1])
    account = await accounts.get_account(db, sys.argv[2])
    await suspend(new_context(Settings(), db, die, clock), Actor.command(account.id, "a test"), "Phishing")

asyncio.run(main())
"""


def test_a_process_killed_before_or_after_the_commit_leaves_all_or_nothing(database_url: str, tmp_path: Path) -> None:
    suspend = tmp_path / "suspend.py"
    suspend.write_text(SUSPEND)
    with Website() as page, Service(tmp_path, WAYPOST_DATABASE_URL=database_url) as service:
        service.client.post("/api/v1/links", json={"slug": "sale", "destination_url": page.url})
        assert visit(service, "/sale") == {302}
        for when, status in (("before", 302), ("after", 404)):
            done = forked.run([database_url, OWNER, when], program=suspend)
            assert done.returncode == -signal.SIGKILL
            if status == 404:  # processes read what was committed and not published
                eventually(lambda: visit(service, "/sale") == {404})
            assert visit(service, "/sale") == {status}
            expected = 200 if status == 302 else 403
            eventually(lambda expected=expected: _api(service) == expected)
        service.command("account", "resume", OWNER)
        assert visit(service, "/sale") == {302}


def _api(service: Service) -> int:
    return service.client.get("/api/v1/links").status_code
