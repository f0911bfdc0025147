"""POST /v1/links"""

import asyncio
from datetime import timedelta

import pytest
from people import BASE_URL, START, new_key
from resources.links.env import SHARED, UNSAFE, Env, faults
from sqlalchemy import select

from waypost.accounts.model import accounts
from waypost.resources.links import rules


async def test_creates_a_link_with_defaults(env: Env) -> None:
    answer = await env.post({"slug": "Spring-26_x", "tags": ["a", "b", "a"], "expires_at": "2030-02-01T01:00:00+01:00"})
    assert answer.status_code == 201
    assert list(answer.json()) == ["data"]
    link = answer.json()["data"]
    assert list(link.items())[1:] == [
        ("title", "Page title"),
        ("destination_url", env.site.url()),
        ("short_url", f"{SHARED}/Spring-26_x"),
        ("slug", "Spring-26_x"),
        ("hostname", SHARED),
        ("og_title", "Scraped OG title"),
        ("og_description", "Scraped description"),
        ("og_image", env.site.url("/card.png")),
        ("utm_params", {}),
        ("tags", ["a", "b"]),
        ("expires_at", "2030-02-01T00:00:00.000000Z"),
        ("pixel_ids", []),
        ("clicks", 0),
        ("status", "active"),
        ("created_at", "2030-01-01T12:00:00.000000Z"),
        ("updated_at", "2030-01-01T12:00:00.000000Z"),
    ]
    assert (await env.find(link)).json() == {"data": link}


async def test_requests_the_destination_once(env: Env) -> None:
    await env.make()
    assert env.site.seen == ["/page"]


async def test_a_destination_has_no_characters_without_width_at_its_ends(env: Env) -> None:
    link = await env.make(destination_url=f"\ufeff{env.site.url()}\u200b")
    assert link["destination_url"] == env.site.url()


async def test_announces_the_slug(env: Env) -> None:
    link = await env.make()
    assert env.changed_slugs == [link["slug"]]


async def test_explicit_values_win_over_scraped_ones(env: Env) -> None:
    link = await env.make(og_title="Mine")
    assert (link["og_title"], link["og_description"]) == ("Mine", "Scraped description")
    link = await env.make(title="T", og_description="D\nE", og_image="https://img.example.com/a.png")
    assert (link["title"], link["og_title"], link["og_description"]) == ("T", "Scraped OG title", "D\nE")
    assert link["og_image"] == "https://img.example.com/a.png"


@pytest.mark.parametrize("blank", ["", "  "])
async def test_blank_counts_as_not_sent(env: Env, blank: str) -> None:
    link = await env.make(title=blank, og_title=blank, og_description=blank)
    texts = [link[name] for name in ("title", "og_title", "og_description")]
    assert texts == ["Page title", "Scraped OG title", "Scraped description"]


async def test_a_page_without_title_gives_untitled(env: Env) -> None:
    link = await env.make(destination_url=env.site.url("/missing"))
    assert (link["title"], link["og_title"], link["og_description"], link["og_image"]) == ("Untitled", None, None, None)


async def test_null_counts_as_omitted(env: Env) -> None:
    optional = ["slug", "title", "hostname", "og_title", "og_description", "og_image", "og_image_file"]
    optional += ["utm_params", "tags", "expires_at", "pixel_ids"]
    link = await env.make(**dict.fromkeys(optional))
    assert (link["title"], link["og_title"], link["tags"], link["utm_params"]) == (
        "Page title",
        "Scraped OG title",
        [],
        {},
    )
    assert len(link["slug"]) == 7


async def test_reports_an_oversized_field_once_with_other_problems(env: Env) -> None:
    many = {"utm_params": {f"utm_{n}": 5 for n in range(5_000)}, "tags": [5] * 5_000, "pixel_ids": [5] * 5_000}
    assert faults(await env.post({"title": 5, **many})) == {
        "title": ["This must be a string."],
        "utm_params": ["This must have at most 20 entries."],
        "tags": ["This must have at most 100 entries."],
        "pixel_ids": ["This must have at most 20 entries."],
    }


async def test_ignores_unknown_fields(env: Env) -> None:
    link = await env.make(id="x", clicks=7, created_at="x", colour="red", status="inactive")
    assert (link["clicks"], link["status"]) == (0, "active")


async def test_reports_every_problem_at_once(env: Env) -> None:
    await env.make(slug="taken")
    answer = await env.post(
        {
            "destination_url": "http://10.0.0.1/",
            "slug": "taken",
            "title": 5,
            "hostname": "links.example.com",
            "og_title": "x" * 256,
            "og_description": "x" * 5001,
            "og_image": "/relative.png",
            "og_image_file": "not a file",
            "utm_params": {"utm_source": "x" * 256, "utm_colour": "red"},
            "tags": ["fine", "x" * 256, 7, " "],
            "expires_at": "2029-12-31T00:00:00Z",
            "pixel_ids": ["0190b5a3-9f3b-7000-8000-000000000000", "7"],
        }
    )
    assert faults(answer).keys() == {
        "destination_url",
        "slug", "title", "hostname", "og_title", "og_description", "og_image", "og_image_file", "utm_params.utm_source",
        "utm_params.utm_colour", "tags.1", "tags.2", "tags.3", "expires_at", "pixel_ids.0", "pixel_ids.1",
    }  # fmt: skip


WRONG = [
    ("destination_url", None),
    ("destination_url", 5),
    ("destination_url", ""),
    ("destination_url", "example.com"),
    ("destination_url", "ftp://example.com/"),
    ("destination_url", "javascript:alert(1)"),
    ("destination_url", "http:///page"),
    ("destination_url", "http://user@example.com/"),
    ("destination_url", "http://localhost/"),
    ("destination_url", "http://10.0.0.1/"),
    ("destination_url", "http://[::1]/"),
    ("destination_url", "http://2130706433/"),
    ("destination_url", "http://169.254.169.254/latest/meta-data"),
    ("destination_url", f"http://{SHARED}/abc"),
    ("destination_url", f"https://{SHARED.upper()}/abc"),
    ("destination_url", f"http://{SHARED}:80/abc"),
    ("destination_url", f"{BASE_URL}/dashboard"),
    ("destination_url", "https://example.com/" + "x" * 2029),
    ("destination_url", "https://example.com/\ud800"),
    ("slug", ""),
    ("slug", "a/b"),
    ("slug", "ä"),
    ("slug", "a b"),
    ("slug", ".."),
    ("slug", "a\n"),
    ("slug", "x" * 256),
    ("slug", "api"),
    ("slug", "Dashboard"),
    ("slug", 7),
    ("title", "x" * 256),
    ("title", "a\u0000b"),
    ("title", ["a"]),
    ("hostname", ""),
    ("hostname", f"not.{SHARED}"),
    ("hostname", f"{SHARED}:8080"),
    ("hostname", 5),
    ("og_image", "https://example.com/" + "x" * 2029),
    ("og_image", "data:image/png;base64,AAAA"),
    ("og_image_file", {"filename": "a", "content_type": "b", "content": "c"}),
    ("utm_params", []),
    ("utm_params", "utm_source=x"),
    ("tags", "a"),
    ("tags", {"0": "a"}),
    ("tags", ["x"] * 101),
    ("expires_at", 1893456000),
    ("expires_at", "tomorrow"),
    ("expires_at", "2030-01-01"),
    ("expires_at", "2030-01-01T12:00:00Z"),
    ("expires_at", "0001-01-01T00:00:00+23:00"),
    ("pixel_ids", "x"),
]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_reports_each_wrong_value_on_its_field(env: Env) -> None:
    keys = [await new_key(env.deps.db, env.alice.account_id) for _ in range(2)]
    for number, (name, value) in enumerate(WRONG):
        answer = await env.post({"slug": f"s{number}"} | {name: value}, keys[number % 2])
        assert faults(answer).keys() == {name}, (name, value)
    assert (await env.browse()).json()["meta"]["total"] == 0


async def test_requires_a_destination(env: Env) -> None:
    answer = await env.client.post("/api/v1/links", json={"slug": "a/b"}, headers=env.alice.headers)
    assert faults(answer).keys() == {"destination_url", "slug"}


async def test_refuses_an_unreachable_destination(env: Env) -> None:
    env.site.pages["/down"] = (503, "")
    message = "The destination URL could not be reached. Check the URL and try again."
    assert faults(await env.post({"destination_url": env.site.url("/down")})) == {"destination_url": [message]}
    closed = "http://127.0.0.1:9/"
    assert faults(await env.post({"destination_url": closed})).keys() == {"destination_url"}


async def test_refuses_an_unsafe_destination(env: Env) -> None:
    message = "The destination URL was flagged as unsafe and cannot be shortened."
    assert faults(await env.post({"destination_url": env.site.url(UNSAFE)})) == {"destination_url": [message]}


async def test_accepts_values_at_their_limits(env: Env) -> None:
    url = env.site.url("/") + "x" * (2048 - len(env.site.url("/")))
    link = await env.make(
        destination_url=url,
        slug="s" * 255,
        title="ü" * 255,
        og_title="x" * 255,
        og_description="x" * 5000,
        tags=["x" * 255],
    )
    assert (link["destination_url"], link["title"]) == (url, "ü" * 255)


async def test_accepts_a_multipart_form(env: Env) -> None:
    fields = [
        ("destination_url", env.site.url()),
        ("title", "Form"),
        ("tags[]", "a"),
        ("tags[]", "b"),
        ("og_title", ""),
    ]
    answer = await env.send_form("POST", "", [*fields, ("utm_params[utm_source]", "news"), ("slug", "")])
    assert answer.status_code == 201, answer.text
    link = answer.json()["data"]
    assert (link["title"], link["tags"], link["utm_params"]) == ("Form", ["a", "b"], {"utm_source": "news"})
    assert link["og_title"] == "Scraped OG title"


async def test_accepts_a_multipart_form_without_tags(env: Env) -> None:
    fields = [("destination_url", env.site.url()), ("tags[]", ""), ("tags[]", "a"), ("pixel_ids[]", "")]
    answer = await env.send_form("POST", "", fields)
    assert answer.json()["data"]["tags"] == ["a"]
    fields = [("tags[]", "")]
    answer = await env.send_form("PATCH", f"/{answer.json()['data']['id']}", fields)
    assert answer.json()["data"]["tags"] == []


async def test_an_expired_link_is_inactive(env: Env) -> None:
    link = await env.make(expires_at="2030-01-01T13:00:00Z")
    env.clock.move(timedelta(minutes=59))
    assert (await env.find(link)).json()["data"]["status"] == "active"
    env.clock.move(timedelta(minutes=1))
    assert (await env.find(link)).json()["data"]["status"] == "inactive"


async def test_only_one_of_32_concurrent_requests_gets_a_slug(env: Env) -> None:
    answers = await asyncio.gather(*(env.post({"slug": "gold"}, [env.alice, env.bob][n % 2]) for n in range(32)))
    assert sorted(answer.status_code for answer in answers) == [201] + [422] * 31
    refused = next(answer for answer in answers if answer.status_code == 422)
    assert faults(refused) == {"slug": [rules.SLUG_TAKEN]}


async def test_counts_the_accounts_links(env: Env) -> None:
    links = await asyncio.gather(*(env.make() for _ in range(8)))
    await env.delete(links[0])
    async with env.deps.db.read() as tx:
        query = select(accounts.c.links_count).where(accounts.c.id == env.alice.account_id)
        assert (await tx.execute(query)).scalar_one() == 7


async def test_reads_no_body_of_a_key_without_the_scope(env: Env) -> None:
    reader = await new_key(env.deps.db, env.alice.account_id, scopes=["links:read"], now=START)
    answer = await env.client.post("/api/v1/links", content=b"{broken", headers=reader.headers)
    assert answer.status_code == 403
