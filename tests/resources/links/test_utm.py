"""UTM parameters: written into the destination when a link is created or changed."""

import pytest
from resources.links.env import Env, faults

UTM = {"utm_source": "news letter", "utm_medium": "mail"}
QUERY = "utm_source=news%20letter&utm_medium=mail"


async def test_adds_utm_parameters_to_the_destination(env: Env) -> None:
    link = await env.make(utm_params={"utm_medium": "mail", "utm_source": "news letter"})
    assert link["destination_url"] == env.site.url(f"/page/?{QUERY}")
    assert link["utm_params"] == UTM


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("", f"/?{QUERY}"),
        ("/guide.pdf", f"/guide.pdf?{QUERY}"),
        ("/a?b=1&utm_source=old&c=%7E", f"/a/?b=1&c=%7E&{QUERY}"),
        ("/a/#top", f"/a/?{QUERY}#top"),
    ],
)
async def test_writes_utm_parameters_into_the_query(env: Env, path: str, written: str) -> None:
    link = await env.make(destination_url=env.site.url(path), utm_params=UTM)
    assert link["destination_url"] == env.site.url(written)


async def test_omits_empty_parameters(env: Env) -> None:
    link = await env.make(utm_params={"utm_source": "", "utm_term": None, "utm_medium": "mail"})
    assert (link["utm_params"], link["destination_url"]) == (
        {"utm_medium": "mail"},
        env.site.url("/page/?utm_medium=mail"),
    )


async def test_a_change_requires_the_destination(env: Env) -> None:
    link = await env.make(utm_params=UTM)
    for params in (UTM, {}, None, {"colour": "red"}):
        assert "destination_url" in faults(await env.patch(link, {"utm_params": params}))


async def test_a_change_replaces_parameters(env: Env) -> None:
    link = await env.make(utm_params=UTM)
    changed = await env.changed(link, destination_url=link["destination_url"], utm_params={"utm_term": "x"})
    assert changed["destination_url"] == env.site.url("/page/?utm_term=x")
    assert changed["utm_params"] == {"utm_term": "x"}


async def test_parameters_move_to_a_new_destination(env: Env) -> None:
    link = await env.make(utm_params=UTM)
    changed = await env.changed(link, destination_url=env.site.url("/other"))
    assert (changed["destination_url"], changed["utm_params"]) == (env.site.url(f"/other/?{QUERY}"), UTM)


@pytest.mark.parametrize("nothing", [None, {}, {"utm_source": ""}])
async def test_removes_parameters(env: Env, nothing: object) -> None:
    link = await env.make(utm_params=UTM)
    changed = await env.changed(link, destination_url=link["destination_url"], utm_params=nothing)
    assert (changed["destination_url"], changed["utm_params"]) == (env.site.url("/page/"), {})


async def test_refuses_a_destination_that_gets_too_long(env: Env) -> None:
    long = env.site.url("/") + "x" * (2030 - len(env.site.url("/")))
    assert faults(await env.post({"destination_url": long, "utm_params": UTM})).keys() == {"destination_url"}
    link = await env.make(utm_params=UTM)
    assert faults(await env.patch(link, {"destination_url": long})).keys() == {"destination_url"}
