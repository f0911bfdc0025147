"""docs/guides/app-links.md: its command and its document, as they are printed."""

import json
import re
import shlex

from architecture.code import ROOT
from resources.domains.env import Env

from waypost.resources.domains.app_links import store

GUIDE = (ROOT / "docs" / "guides" / "app-links.md").read_text()
API = (ROOT / "docs" / "reference" / "api.md").read_text()


async def test_the_documents_of_the_guide_are_accepted_without_hints(env: Env) -> None:
    [document] = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    [command] = re.findall(r"^api (.*app-links.*)$", GUIDE, re.MULTILINE)
    made = await env.make("go.brand.com")
    _, method, url, _, file = shlex.split(command)
    assert (url, file) == ("$BASE/domains/$ID/app-links", "@app-links.json")
    answer = await env.ask(method, f"/{made['id']}/app-links", content=document)
    assert (answer.status_code, answer.json()["data"]) == (200, json.loads(document))
    await env.go_live(made)
    served = await store.find_app_links(env.deps.db, b"go.brand.com")
    curled = re.findall(r"^curl -i https://go.brand.com/(.*)$", GUIDE, re.MULTILINE)
    assert sorted(curled) == sorted(path.decode() for path in served)


async def test_the_example_of_the_reference_is_accepted(env: Env) -> None:
    [command] = re.findall(r"^api (-X PUT \$BASE/domains/\$ID/app-links .*)$", API, re.MULTILINE)
    made = await env.make()
    _, method, _, _, body = shlex.split(command)
    answer = await env.ask(method, f"/{made['id']}/app-links", content=body)
    assert (answer.status_code, answer.json()["data"]) == (200, json.loads(body))
