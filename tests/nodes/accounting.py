"""Looks for every visit and change after everything is drained and delivered."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from journeys.service import eventually
from nodes.cluster import Cluster
from nodes.traffic import Account, Answers, Period, Site, Traffic

_SETTLING = 240.0  # seconds at most until everything is drained and delivered
_NEVER = {"400", "404", "409", "422", "429", "500"}
"""Statuses that no fault excuses."""


class Finding(NamedTuple):
    is_right: bool
    text: str


def sum_up(traffic: Traffic) -> dict[str, Answers]:
    """Of the whole run, by kind of request."""
    answers = Period(Answers)
    for period in traffic.periods:
        for kind, each in period.items():
            answers[kind].add(each)
    return answers


def deliveries(site: Site, traffic: Traffic) -> Answers:
    """How long after its visit each event of a click arrived."""
    answers = Answers(refused=Counter({"503": site.refused}))
    for number, event in site.received.items():
        referrer = event["data"].get("referrer", "")
        if traffic.made(referrer):
            answers.seconds.append(site.received_at[number] - traffic.visited_at[traffic.number(referrer)])
    return answers


def settle(cluster: Cluster) -> None:
    cluster.wait_until_ready()
    cluster.wait_until_drained(_SETTLING)
    eventually(
        lambda: not cluster.postgres.primary.sql("SELECT 1 FROM webhook_deliveries WHERE status = 'pending' LIMIT 1"),
        every=0.5,
        within=_SETTLING,
    )


async def compare(cluster: Cluster, site: Site, traffic: Traffic) -> list[Finding]:
    """What clients saw with what is stored, and what is stored with each other."""
    slugs = {link_id.replace("-", ""): slug for each in traffic.accounts for slug, link_id in each.ids.items()}
    rows = _by_slug(cluster, slugs, "SELECT lower(hex(link_id)), count() FROM clicks GROUP BY 1")
    sums = _by_slug(cluster, slugs, "SELECT lower(hex(subject_id)), sum(clicks) FROM click_counts GROUP BY 1")
    counters = dict(
        cluster.postgres.primary.sql("SELECT slug, clicks FROM links JOIN link_clicks ON link_id = id WHERE clicks > 0")
    )
    findings = [
        *_find_visits(cluster, traffic),
        Finding({slug: counters.get(slug) for slug in rows} == rows, "counters of links = their rows"),
        Finding(sums == rows, "statistics of links = their rows"),
    ]
    destinations = dict(cluster.postgres.primary.sql("SELECT slug, destination_url FROM links"))
    prefix = traffic.accounts[-1].imported
    imported = Counter(url for url in destinations.values() if str(url).startswith(prefix))
    is_right = imported == Counter(traffic.imported)
    findings.append(
        Finding(is_right, f"{traffic.imports} imports of {len(traffic.imported):,} links; {imported.total():,} stored")
    )
    for account in traffic.accounts:
        total = sum(rows[slug] for slug in account.ids)
        listed = (await account.get("/clicks", per_page=1))["meta"]["total"]
        clicks = (await account.get("/stats"))["data"]["clicks"]
        text = f"{account.name}: {total:,} rows, {listed:,} in lists, {clicks:,} in statistics"
        findings.append(Finding(listed == clicks == total, text))
        wrong = [slug for slug in account.created if destinations.get(slug) not in account.destinations[slug]]
        findings.append(Finding(not wrong, f"{account.name}: {len(account.created)} created links, {len(wrong)} wrong"))
    hooked = traffic.accounts[0]
    findings += _find_events(site, traffic, hooked, sum(rows[slug] for slug in hooked.ids))
    refusals = Counter(reason for answers in sum_up(traffic).values() for reason in answers.refused)
    findings.append(Finding(not refusals.keys() & _NEVER, f"all refusals: {', '.join(refusals)}"))
    return findings


def _by_slug(cluster: Cluster, slugs: Mapping[str, str], query: str) -> Counter[str]:
    """The numbers of links, by the hexadecimal id in the query's first column."""
    return Counter({slugs[key]: int(count) for key, count in cluster.clickhouse.sql(query) if key in slugs})


def _find_visits(cluster: Cluster, traffic: Traffic) -> Iterator[Finding]:
    rows = cluster.clickhouse.sql("SELECT referrer, count() FROM clicks GROUP BY 1")
    stored = {referrer: int(count) for referrer, count in rows if traffic.made(referrer)}
    found = [stored.pop(traffic.mark(number), 0) for number in range(len(traffic.visited))]
    answered = [count for count, is_answered in zip(found, traffic.is_answered, strict=True) if is_answered]
    lost, repeated = answered.count(0), sum(count > 1 for count in found)
    yield Finding(not lost, f"{len(answered):,} visits were answered; {lost} of them are lost")
    yield Finding(not repeated, f"{repeated} of {len(found):,} visits were counted twice")
    yield Finding(not stored, f"{len(stored)} visits were counted that nobody made")
    others = sum(found) - sum(answered)
    yield Finding(True, f"{len(found) - len(answered):,} visits were not answered; {others:,} of them were counted")


def _find_events(site: Site, traffic: Traffic, account: Account, clicks: int) -> Iterator[Finding]:
    """`site.received` has each event once; it came once for each click and each created link."""
    events = [event["data"] for event in site.received.values()]
    clicked = Counter(data["referrer"] for data in events if traffic.made(data.get("referrer", "")))
    text = f"{clicked.total():,} events of {clicks:,} clicks; {site.repeated} came twice with one id"
    yield Finding(len(clicked) == clicked.total() == clicks, text)
    created = {data["slug"] for data in events if "slug" in data}
    lost = set(account.created_later) - created
    yield Finding(not lost, f"{len(account.created_later)} links created later; events of {len(lost)} are missing")
