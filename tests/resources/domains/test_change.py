"""PATCH /v1/domains/{id}"""

from datetime import timedelta
from typing import Any

from resources.domains.env import NAME, TARGET, Env
from resources.links.env import UNSAFE, faults

from waypost.resources.domains import service

HOME, LOST = "https://brand.example/", "https://brand.example/lost?why=gone"


async def test_changes_the_target_urls(env: Env) -> None:
    made = await env.make()
    env.clock.move(timedelta(hours=1))
    answer = await env.patch(made, {"root_url": HOME, "not_found_url": LOST})
    assert answer.status_code == 200
    changed = {"root_url": HOME, "not_found_url": LOST, "updated_at": "2030-01-01T13:00:00.000000Z"}
    assert answer.json()["data"] == made | changed
    assert (await env.find(made)).json()["data"] == made | changed
    assert env.published == [NAME], "the host, and none of its links"
    cleared = await env.patch(made, {"root_url": None})
    assert cleared.json()["data"] == made | changed | {"root_url": None}
    form = await env.ask("PATCH", f"/{made['id']}", files=[("not_found_url", (None, ""))])
    assert form.json()["data"]["not_found_url"] is None
    assert env.published == [NAME] * 3


async def test_no_change_is_saved_when_nothing_differs(env: Env) -> None:
    made = (await env.patch(await env.make(), {"root_url": HOME})).json()["data"]
    env.published.clear()
    env.clock.move(timedelta(hours=1))
    unknown = {"colour": "red", "status": "verified", "token": "mine"}
    for fields in ({}, unknown, {"hostname": "GO.brand.test."}, {"root_url": HOME}):
        answer = await env.patch(made, fields)
        assert (answer.status_code, answer.json()["data"]) == (200, made)
    assert env.published == []


async def test_accepted_urls_are_canonical(env: Env) -> None:
    made = await env.make()
    for sent, kept in (
        ("http://93.184.215.14:8080/a", "http://93.184.215.14:8080/a"),
        ("HTTPS://Bücher.example", "https://xn--bcher-kva.example/"),
        ("https://app.test:8443/", "https://app.test:8443/"),  # beside the service, not on it
        (f"https://brand.example/{'a' * 2026}", f"https://brand.example/{'a' * 2026}"),
    ):
        assert (await env.patch(made, {"root_url": sent})).json()["data"]["root_url"] == kept


async def test_rejects_invalid_fields(env: Env) -> None:
    made = await env.make()
    for wrong in (
        5,
        "",
        "brand.example",
        "javascript:alert(1)",
        "https://a b.example/",
        "https://localhost/",
        "\ud800",
    ):
        errors = faults(await env.patch(made, {"root_url": wrong, "not_found_url": wrong, "hostname": "a.test"}))
        assert errors.keys() == {"root_url", "not_found_url", "hostname"}
        assert errors["hostname"] == [service.HOSTNAME_FIXED]
    for long in (
        f"https://brand.example/{'a' * 2027}",
        f"https://brand.example/{'ü' * 1000}",
    ):  # the second once encoded
        assert faults(await env.patch(made, {"root_url": long})) == {
            "root_url": ["This must have at most 2,048 characters."]
        }
    for other in (None, 5, "", "other.test", "co.uk"):
        assert faults(await env.patch(made, {"hostname": other})).keys() == {"hostname"}
    assert (await env.find(made)).json()["data"] == made
    assert env.published == []


async def test_rejects_private_and_unsafe_urls(env: Env) -> None:
    made = await env.make()
    for host in ("169.254.169.254", "127.0.0.9:8022", "[::1]", "192.168.0.1", "[::ffff:10.0.0.1]", "192.0.2.1"):
        answer = await env.patch(made, {"root_url": f"http://{host}/", "not_found_url": HOME})
        assert faults(answer) == {"root_url": [service.NOT_PUBLIC]}
    answer = await env.patch(made, {"not_found_url": env.links.site.url(UNSAFE)})
    assert faults(answer) == {"not_found_url": [service.UNSAFE]}
    assert (await env.find(made)).json()["data"] == made
    assert env.links.site.seen == []


async def test_rejects_redirect_loops(env: Env) -> None:
    mine, own, foreign = await env.make(), await env.make("own.test"), await env.make("foreign.test", env.bob)

    async def error_of(address: str) -> Any:
        answer = await env.patch(mine, {"not_found_url": address})
        return answer.status_code if answer.status_code == 200 else faults(answer)["not_found_url"]

    for host in ("go.test", "app.test", f"{TARGET}:443", "127.0.0.1"):
        assert await error_of(f"http://{host}/a") == [service.LOOP]
    for host in (NAME, NAME.upper(), "own.test:8443"):
        assert await error_of(f"https://{host}/a") == [service.LOOP_ON_DOMAIN]
    assert await error_of("https://foreign.test/") == 200, "which anybody can claim"
    await env.go_live(foreign)
    assert await error_of("https://foreign.test/") == [service.LOOP_ON_DOMAIN]
    await env.delete(own)
    assert await error_of("https://own.test/") == 200


async def test_a_domain_of_another_account_is_not_found(env: Env) -> None:
    made = await env.make()
    assert (await env.patch(made, {"root_url": 5}, env.bob)).status_code == 404
    assert (await env.find(made)).json()["data"] == made
