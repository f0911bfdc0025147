"""POST /v1/domains"""

import asyncio
import re

import pytest
from people import new_key
from resources.domains.env import NAME, TARGET, Env
from resources.links.env import faults

from waypost.kit.fields import REQUIRED
from waypost.resources.domains import names, service

FIELDS = ["id", "hostname", "status", "verified_at", "last_checked_at", "error", "dns_records", "root_url"]
FIELDS += ["not_found_url", "links_count", "tls", "created_at", "updated_at"]


async def test_registers_a_domain_with_its_records(env: Env) -> None:
    answer = await env.post({"hostname": NAME})
    assert answer.status_code == 201
    made = answer.json()["data"]
    assert list(made) == FIELDS
    txt, cname = made["dns_records"]
    assert re.fullmatch(r"waypost-[0-9a-f]{32}", txt["value"])
    assert (txt["type"], txt["name"]) == ("TXT", "_waypost.go.brand.test")
    assert cname == {"type": "CNAME", "name": NAME, "value": TARGET}
    assert made["created_at"] == made["updated_at"] == "2030-01-01T12:00:00.000000Z"
    assert made["tls"] == {"status": "none", "expires_at": None, "error": None}
    rest = {name: made[name] for name in FIELDS[1:6] + FIELDS[7:10]}
    empty = dict.fromkeys(["verified_at", "last_checked_at", "error", "root_url", "not_found_url"])
    assert rest == {"hostname": NAME, "status": "pending", "links_count": 0} | empty
    assert (await env.find(made)).json()["data"] == made
    row = await env.row(made)
    assert (row.is_served, row.unverified_since) == (False, env.clock())
    assert env.published == []


async def test_normalizes_capitals_and_international_names(env: Env) -> None:
    answer = await env.ask("POST", files=[("hostname", (None, "Links.BÜCHER.example."))])
    assert answer.json()["data"]["hostname"] == "links.xn--bcher-kva.example"


async def test_rejects_invalid_hostnames(env: Env) -> None:
    for fields, errors in (
        ({}, REQUIRED),
        ({"hostname": None}, REQUIRED),
        ({"hostname": ""}, names.EMPTY),
        *(({"hostname": wrong}, "This must be a string.") for wrong in (5, True, ["go.brand.test"], {})),
        ({"hostname": "go.brand.test\n"}, "This must not contain control characters."),
        ({"hostname": "a" * 255}, names.TOO_LONG),
        ({"hostname": "https://go.brand.test"}, names.SCHEME),
        ({"hostname": "192.0.2.1"}, names.ADDRESS),
        ({"hostname": "*.brand.test"}, names.WILDCARD),
        ({"hostname": "br\u0430nd.test"}, names.MIXED),
        *(
            ({"hostname": own}, service.OWN_HOST)
            for own in ("go.test", "APP.test.", TARGET, "login.app.test", f"a.b.{TARGET}")
        ),
    ):
        assert faults(await env.post(fields)) == {"hostname": [errors]}
    assert (await env.ask("GET")).json()["data"] == []
    await env.make("notgo.test")  # ends alike, and is not below it


async def test_a_name_without_a_single_owner_gets_406_without_an_envelope(env: Env) -> None:
    for name in ("localhost", "co.uk", "foo", "GitHub.io.", "go.localhost", "公司.cn"):
        answer = await env.post({"hostname": name})
        assert (answer.status_code, answer.json()) == (406, {"message": names.UNREGISTRABLE})
        assert answer.headers["X-RateLimit-Limit"]


async def test_a_hostname_belongs_to_one_account(env: Env) -> None:
    made = await env.make()
    for spelling in (NAME, "GO.Brand.Test."):
        assert faults(await env.post({"hostname": spelling})) == {"hostname": [service.ALREADY_YOURS]}
        assert faults(await env.post({"hostname": spelling}, env.bob)) == {"hostname": [service.TAKEN]}
    await env.go_live(made)
    assert faults(await env.post({"hostname": NAME}, env.bob)) == {"hostname": [service.TAKEN]}
    await env.make(f"other.{NAME}", env.bob)
    await env.delete(made)
    again = await env.make(NAME, env.bob)
    assert again["id"] != made["id"]
    assert again["dns_records"][0]["value"] != made["dns_records"][0]["value"]


async def test_one_of_several_concurrent_claims_wins(env: Env) -> None:
    people = [await new_key(env.deps.db, who.account_id) for who in (env.alice, env.bob) for _ in range(4)]
    answers = await asyncio.gather(*(env.post({"hostname": NAME}, who) for who in people))
    assert sorted(answer.status_code for answer in answers) == [201] + [422] * 7
    errors = [faults(answer)["hostname"][0] for answer in answers if answer.status_code == 422]
    assert sorted(errors) == sorted([service.ALREADY_YOURS] * 3 + [service.TAKEN] * 4)


async def test_limits_the_domains_of_an_account(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_UNVERIFIED_DOMAINS", 2)
    monkeypatch.setattr(service, "MAX_DOMAINS", 3)
    first, _ = await env.make("a.test"), await env.make("b.test")
    assert faults(await env.post({"hostname": "c.test"})) == {"hostname": [service.TOO_MANY_UNVERIFIED_DOMAINS]}
    await env.make("c.test", env.bob)
    await env.go_live(first)
    await env.make("d.test")
    assert faults(await env.post({"hostname": "e.test"})) == {"hostname": [service.TOO_MANY]}
    await env.delete(first)
    people = [await new_key(env.deps.db, env.bob.account_id) for _ in range(6)]
    answers = await asyncio.gather(*(env.post({"hostname": f"{i}.f.test"}, who) for i, who in enumerate(people)))
    assert sorted(answer.status_code for answer in answers) == [201] + [422] * 5
