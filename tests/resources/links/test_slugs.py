"""Slugs: who may have which, and those the service makes."""

from dataclasses import replace
from uuid import UUID

import pytest
from domains import domain
from hypothesis import given
from hypothesis import strategies as st
from resources.links.env import Env, faults

from waypost.kit.ids import new_id
from waypost.kit.slug_style import ALPHABETS, SlugStyle
from waypost.resources.domains.options.model import DomainOptions
from waypost.resources.domains.options.store import OPTIONS
from waypost.resources.links import rules, store
from waypost.resources.links.model import slugs
from waypost.settings.reserved import RESERVED


async def test_generates_a_slug(env: Env) -> None:
    link = await env.make()
    assert len(link["slug"]) == 7
    assert set(link["slug"]) <= set(ALPHABETS["mixed"])


async def test_slugs_are_case_sensitive(env: Env) -> None:
    await env.make(slug="Case")
    assert (await env.make(env.bob, slug="case"))["slug"] == "case"


async def test_a_released_slug_stays_with_its_account(env: Env) -> None:
    link = await env.make(slug="first")
    await env.changed(link, slug="second")
    assert faults(await env.post({"slug": "first"}, env.bob)) == {"slug": [rules.SLUG_TAKEN]}
    assert (await env.changed(link, slug="first"))["slug"] == "first"


async def test_a_change_cannot_take_a_taken_slug(env: Env) -> None:
    await env.make(env.bob, slug="bobs")
    link = await env.make(slug="mine")
    assert faults(await env.patch(link, {"slug": "bobs"})) == {"slug": [rules.SLUG_TAKEN]}
    assert (await env.find(link)).json()["data"]["slug"] == "mine"
    assert faults(await env.post({"slug": "mine"}, env.bob)) == {"slug": [rules.SLUG_TAKEN]}


async def test_a_refused_request_claims_nothing(env: Env) -> None:
    """The slug that was let go in the same transaction is still held."""
    await env.make(env.bob, slug="zz-bobs")
    link = await env.make(slug="aa-mine")
    await env.patch(link, {"slug": "zz-bobs"})
    assert faults(await env.post({"slug": "aa-mine"})) == {"slug": [rules.SLUG_USED]}


async def test_a_generated_slug_never_revives_an_old_one(env: Env) -> None:
    made = await env.make(slug="Abc2345")
    async with env.deps.db.read() as tx:
        link = replace(await store.get(tx, env.alice.account_id, UUID(made["id"])), id=new_id())
    await env.delete(made)
    async with env.deps.db.write() as tx:
        assert (await store.generate_slugs(tx, [link], ()))[link.id].slug != link.slug
        assert not await store.reserve_slugs(tx, [link])


@pytest.mark.parametrize("slug", [*[word for word in sorted(RESERVED) if word.isalnum()][::5], "API", "Login"])
def test_refuses_reserved_words(slug: str) -> None:
    assert rules.find_slug_problem(slug, RESERVED)
    assert rules.find_slug_problem(slug, frozenset()) is None


def test_generated_slugs_grow_after_collisions() -> None:
    assert [len(rules.generate_slug(attempt, RESERVED)) for attempt in (0, 3, 4, 8)] == [7, 7, 8, 9]
    digits = [rules.generate_slug(attempt, RESERVED, SlugStyle(4, "digits")) for attempt in range(5)]
    assert [len(slug) for slug in digits] == [4, 4, 4, 4, 5]
    assert all(slug.isdigit() for slug in digits)


async def test_slugs_of_a_domain_have_its_style(env: Env) -> None:
    own = await domain(env.deps.db, env.alice.account_id, "go.brand.test")
    async with env.deps.db.write() as tx:
        options = DomainOptions(slug_length=5, slug_alphabet="lower", updated_at=env.clock())
        await OPTIONS.save(tx, own, options)
    slug = (await env.make(hostname="go.brand.test"))["slug"]
    assert len(slug) == 5
    assert set(slug) <= set(ALPHABETS["lower"])
    assert len((await env.make())["slug"]) == 7


async def test_says_which_share_of_slugs_is_free(env: Env) -> None:
    digits, used = SlugStyle(4, "digits"), [{"slug": f"{number:04}"} for number in range(5_000)]
    assert await store.find_free_share(env.deps.db, RESERVED, digits) == 1
    async with env.deps.db.write() as tx:
        await tx.execute(slugs.insert(), [{**row, "account_id": env.bob.account_id, "link_id": None} for row in used])
    assert 0.25 < await store.find_free_share(env.deps.db, RESERVED, digits) < 0.75


def test_generated_slugs_are_not_rude() -> None:
    assert all(rules.is_rude(slug) for slug in ("xFuCkyz", "aSh1tbc", "2cUnT34"))
    assert not any(rules.is_rude(rules.generate_slug(0, RESERVED)) for _ in range(500))


@given(st.text(max_size=300))
def test_allows_only_plain_characters(slug: str) -> None:
    plain = 0 < len(slug) <= 255 and all(
        character.isascii() and (character.isalnum() or character in "-_") for character in slug
    )
    assert (rules.find_slug_problem(slug, frozenset()) is None) == plain
