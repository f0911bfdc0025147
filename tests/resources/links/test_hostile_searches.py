"""R30: no text that is searched for costs much more than another."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from resources.links.env import Env
from statements import noted

from waypost.database import Database
from waypost.kit.pagination import PageRequest
from waypost.resources.links.lists import listing, trigrams
from waypost.resources.links.lists.query import LinkFilter

WORST = ["a" * 253 + "b", "b" + "a" * 253, "*" * 254, "[" * 254, "%" * 254, "é" * 254, "a_" * 127, "\\" * 254]
SIGNS = ["*", "?", "[", "]", "[a]", "[^a]", "%", "_", "\\", "\\%", "'", "É", "ß", "東"]


@pytest.fixture
async def statements(db: Database) -> AsyncIterator[list[tuple[str, Any]]]:
    """Each with its parameters."""
    with noted() as found:
        yield found


@pytest.mark.parametrize("search", WORST)
async def test_no_pattern_is_longer_than_a_trigram(env: Env, statements: list[tuple[str, Any]], search: str) -> None:
    """A GLOB or LIKE of 254 signs takes a hundred times as long as a comparison of bytes."""
    await env.make(title=search)
    statements.clear()
    answer = await env.browse(f"?search={search.replace('%', '%25')}")
    assert [link["title"] for link in answer.json()["data"]] == [search]
    assert statements
    for statement, parameters in statements:
        assert not any(slow in statement for slow in ("GLOB", "strpos"))
        if " LIKE " in statement:
            assert search not in parameters.values()


async def test_special_characters_match_literally(env: Env, db: Database) -> None:
    for number, title in enumerate((*SIGNS, "a", "plain")):
        await env.make(title=title, slug=str(number))
    for search in SIGNS:
        async with db.read() as tx:
            filter_, request = LinkFilter(search=search), PageRequest(1, 100)
            page = await listing.list_with_total(tx, env.alice.account_id, filter_, request, env.clock())
        assert {link.title for link in page.items} == {each for each in SIGNS if search.casefold() in each.casefold()}


async def test_compares_few_trigrams_in_the_event_loop(env: Env, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigrams, "_MAX_TRIGRAMS", 1_000)
    search = "".join(chr(0x4E00 + number) for number in range(255))
    async with db.read() as tx:
        assert len(await trigrams.select_rare_trigrams(tx, env.alice.account_id, search)) <= trigrams._MAX_COMPARED
