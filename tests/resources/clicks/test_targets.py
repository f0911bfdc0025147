"""The card with the clicks of a link by target: names, kinds, and whether the split of variants is as configured."""

import random
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from browsing import WebApp, open_place
from people import START
from resources.clicks.test_dashboard import link_of, words
from resources.clicks.visited import fill, new_click

from waypost.kit.ids import new_id
from waypost.kit.preferences import DEFAULT
from waypost.resources.clicks.dashboard import value_lists as targets
from waypost.resources.clicks.model import StatsTotals
from waypost.resources.links import routing
from waypost.resources.links.routing import LinkRouting, RuleJson, VariantJson

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RULE: RuleJson = {"name": "iPhone", "conditions": [], "destination_url": "https://example.com/ios"}


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened


def variant(name: str, weight: int) -> VariantJson:
    return {"name": name, "destination_url": f"https://example.com/{name}", "weight": weight}


def new_routing(*variants: VariantJson, **fields: object) -> LinkRouting:
    return LinkRouting(new_id(), new_id(), START, START, variants=variants, **fields)  # type: ignore[arg-type]


def split(clicks: dict[str, int], *weights: int, per_visitor: int = 1) -> list[str]:
    total = sum(clicks.values())
    return targets.describe_split(
        clicks,
        StatsTotals(clicks=total, visitors=total // per_visitor),
        new_routing(*(variant(name, weight) for name, weight in zip("BCDEFGHIJK", weights, strict=False))),
        "",
        DEFAULT,
    )


async def test_clicks_by_target_are_shown_with_their_kind(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    plain = await link_of(place, ada)
    changed = START - 2 * HOUR
    stored = LinkRouting(link.id, link.account_id, changed, changed, [RULE], [variant("B", 40), variant("C", 10)])
    async with place.db.write() as tx:
        await routing.save(tx, stored)
    made = [
        *(new_click(link, START - 3 * DAY, visitor_id=number, target="Old <name>") for number in range(4)),
        *(new_click(link, START - 5 * HOUR, visitor_id=number, target="B") for number in range(300)),
        *(new_click(link, START - HOUR, visitor_id=number, target="B") for number in range(300, 380)),
        *(new_click(link, START - HOUR, visitor_id=number, target="default") for number in range(400, 500)),
        *(new_click(link, START - HOUR, visitor_id=number, target="iPhone") for number in range(500, 503)),
        new_click(plain, START - HOUR, target="default"),
        new_click(link, START - 3 * DAY, visitor_id=9),
    ]
    await fill(place.db, made)
    page = await ada.get(f"/links/{link.id}")
    assert (
        "Targets B Variant, weight 40% 380 78% Link's own destination 100 21% Old <name> Not in the routing any more"
        " 4 <1% iPhone Rule 3 <1% C Variant, weight 10% 0 0%"
        " Clicks without a rule since 1 Jan 2030, 10:00: B 44.4% (weight 40%), C 0.0% (weight 10%),"
        f" Link's own destination 55.6% (weight 50%). {targets.DIFFERS} {targets.NO_WINNER} Times"
    ) in words(page.text)
    assert "Old <name>" not in page.text
    before = words((await ada.get(f"/links/{link.id}?period=custom&from=2029-12-28&to=2029-12-30")).text)
    assert "Targets Old <name> Not in the routing any more 4 100% iPhone Rule 0 0% B Variant, weight 40% 0 0%" in before
    assert "without a rule" not in before
    async with place.db.write() as tx:
        await routing.delete_of_links(tx, [link.id])
    assert "Targets B Not in the routing any more 380 78%" in words((await ada.get(f"/links/{link.id}")).text)
    assert "Link's own destination" not in words((await ada.get(f"/links/{plain.id}")).text)
    assert "Targets" not in (await ada.get("/stats")).text


def test_few_visitors_are_not_compared() -> None:
    for clicks, weights, per_visitor, needed in (
        ({}, (50,), 1, 100),
        ({"B": 50, "default": 49}, (50,), 1, 100),
        ({"B": 500, "default": 10}, (50,), 6, 100),
        ({"B": 10, "default": 480}, (1,), 1, 500),
    ):
        (hint,) = split(clicks, *weights, per_visitor=per_visitor)
        assert f", {needed} are needed." in hint


def test_visitors_who_click_often_do_not_make_a_difference_significant() -> None:
    clicks = {"B": 560, "default": 440}
    assert targets.DIFFERS in split(clicks, 50)[0]
    assert targets.AS_CONFIGURED in split(clicks, 50, per_visitor=5)[0]


@pytest.mark.parametrize("weights", [(50,), (30, 70), (5, 15, 30), (10,) * 10])
def test_a_split_by_the_weights_is_as_configured_in_99_of_100_cases(weights: tuple[int, ...]) -> None:
    names = [*"BCDEFGHIJK"[: len(weights)], "default"]
    drawn = [*weights, 100 - sum(weights)]
    chance = random.Random(1)
    found = [targets.DIFFERS in split(Counter(chance.choices(names, drawn, k=1000)), *weights)[0] for _ in range(500)]
    assert 0 < sum(found) <= 15  # 5 are expected, and more than 15 in 1 of 50,000 cases


def test_a_split_without_weights_or_with_an_unsafe_destination_is_not_compared() -> None:
    assert not targets.is_split(new_routing(rules=[RULE]))
    assert not targets.is_split(new_routing(variant("B", 100)))
    assert not targets.is_split(new_routing(variant("B", 50), unsafe_urls=["https://example.com/B"]))
    assert targets.is_split(new_routing(variant("B", 50)))
