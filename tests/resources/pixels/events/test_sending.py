"""Server-side events: requests to each platform, outcomes of its answers, and what is kept secret."""

from datetime import timedelta
from typing import Any

import pytest
from people import START
from resources.pixels.events.platforms import IDS, TOKENS, Platforms
from resources.pixels.events.sent import BROWSER, Env, new_event, new_pixel, open_env
from servers import Receiver, endless_interim
from structlog.testing import capture_logs

from waypost.database import Database, KeyRing
from waypost.kit.ids import new_id
from waypost.resources.pixels import events
from waypost.resources.pixels.events import model
from waypost.worker import jobs

SERVER_SIDE = ("facebook", "tiktok", "pinterest")
AT = int(START.timestamp()) - 60


async def test_sends_a_page_view_to_meta(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "facebook")
    (event,) = await env.queue(pixel)
    await env.run()
    (got,) = platforms.received()
    assert (got.answer, got.path.split("/")[2:]) == (200, [IDS["facebook"], "events"])
    assert got.events == [
        {
            "event_name": "PageView",
            "event_time": AT,
            "event_id": event.id,
            "event_source_url": "https://go.test/a",
            "action_source": "website",
            "user_data": {"client_ip_address": "192.0.2.7", "client_user_agent": BROWSER},
            "referrer_url": "https://from.example/x",
        }
    ]
    assert await env.results(pixel) == model.EventResults(sent=1, sent_at=START)
    assert await env.nothing_is_left()


async def test_tiktok(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "tiktok")
    (event,) = await env.queue(pixel)
    await env.run()
    (got,) = platforms.received("tiktok")
    user, page = {"ip": "192.0.2.7", "user_agent": BROWSER}, {"url": event.url, "referrer": event.referrer}
    reported = {"event": "Pageview", "event_time": AT, "event_id": event.id, "user": user, "page": page}
    assert got.content == {"event_source": "web", "event_source_id": IDS["tiktok"], "data": [reported]}
    assert (await env.results(pixel)).sent == 1


async def test_pinterest(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "pinterest")
    (event,) = await env.queue(pixel)
    await env.run()
    (got,) = platforms.received("pinterest")
    assert got.path == "/v5/ad_accounts/549755885175/events"
    reported = {"event_name": "page_visit", "action_source": "web", "event_time": AT, "event_id": event.id}
    user = {"client_ip_address": "192.0.2.7", "client_user_agent": BROWSER}
    assert got.events == [{**reported, "event_source_url": event.url, "user_data": user}]
    assert (await env.results(pixel)).sent == 1


async def test_many_events_in_few_requests(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "facebook")
    given = await env.queue(pixel, *(new_event() for _ in range(1_001)))
    await env.run()
    got = platforms.received()
    assert [len(each.events) for each in got] == [500, 500, 1]
    assert sorted(event["event_id"] for each in got for event in each.events) == sorted(each.id for each in given)
    assert (await env.results(pixel)).sent == 1_001


async def test_a_pinterest_tag_alone_has_no_endpoint(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "pinterest", pixel_id="2613174167631")
    await env.queue(pixel)
    await env.run()
    found = await env.results(pixel)
    assert (found.sent, found.rejected, found.dropped) == (0, 0, 0)
    assert "ad_account/tag" in (found.reason or "")
    assert (platforms.received(), await env.waiting(), await env.batches()) == ([], [], [])


@pytest.mark.parametrize("hostile", ["..", "1/../2", "1?a=b", "²", "<script>", "1 2"])
async def test_an_id_that_is_none_goes_nowhere(db: Database, env: Env, platforms: Platforms, hostile: str) -> None:
    await env.queue(await new_pixel(db, "facebook", pixel_id=hostile))
    await env.run()
    assert (platforms.received(), await env.waiting(), await env.batches()) == ([], [], [])


async def test_of_a_pixel_that_is_gone_nothing_is_sent(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "facebook")
    platforms.will("facebook", 500)
    await env.queue(pixel)
    await env.run()
    await env.queue(pixel, *(new_event() for _ in range(2_001)))
    await env.delete(pixel)
    env.pass_by(hours=1)
    await env.run()
    await env.sweep()
    assert len(platforms.received()) == 1
    assert await env.nothing_is_left()
    assert await env.results(pixel) == model.EventResults()


@pytest.mark.parametrize("now", [{"access_token": None}, {"platform": "google_ads"}, {"platform": "tiktok"}])
async def test_events_of_what_a_pixel_is_no_more_are_dropped(
    db: Database, env: Env, platforms: Platforms, now: dict[str, Any]
) -> None:
    pixel = await new_pixel(db, "facebook")
    await env.queue(pixel, new_event(), new_event())
    await env.change(pixel, **now)
    await env.run()
    assert (platforms.received(), await env.nothing_is_left()) == ([], True)
    found = await env.results(pixel)
    assert (found.sent, found.dropped) == (0, 2)
    assert "another platform or no access token" in (found.reason or "")


async def test_results_go_with_their_pixel(db: Database, env: Env) -> None:
    pixel = await new_pixel(db, "facebook")
    await env.queue(pixel)
    await env.run()
    assert (await env.results(pixel)).sent == 1
    await env.delete(pixel)
    assert await env.results(pixel) == model.EventResults()


@pytest.mark.parametrize("platform", SERVER_SIDE)
async def test_a_refusal_is_for_good_and_told(db: Database, env: Env, platforms: Platforms, platform: str) -> None:
    pixel = await new_pixel(db, platform, token="EAAB_some/other+token-0123456789")
    with capture_logs() as logged:
        await env.queue(pixel, new_event(), new_event())
        await env.run()
    found = await env.results(pixel)
    assert (found.sent, found.rejected, found.reason_at) == (0, 2, START)
    assert "oken" in (found.reason or "") or "Authentication failed" in (found.reason or "")
    assert await env.nothing_is_left()
    assert "some/other" not in f"{found} {logged}"
    assert len(platforms.received()) == 1


async def test_what_a_platform_quotes_is_masked(db: Database, env: Env, platforms: Platforms) -> None:
    said = f"bad '{TOKENS['facebook']}',\n {TOKENS['facebook'][:12]}... of {IDS['facebook']}: \u202e" + "x " * 500
    platforms.will("facebook", (400, {}, {"error": {"message": said, "code": 100}}))
    pixel = await new_pixel(db, "facebook")
    await env.queue(pixel)
    await env.run()
    reason = (await env.results(pixel)).reason or ""
    assert reason.startswith("facebook answered 400: bad '…', … of …: x x")
    assert reason.isprintable()
    assert len(reason) < 400


async def test_some_events_of_a_request_can_be_refused(db: Database, env: Env, platforms: Platforms) -> None:
    bad = {"status": "failed", "error_message": "event_time is in the future"}
    events_told = {"num_events_received": 3, "num_events_processed": 2, "events": [{"status": "processed"}, bad, {}]}
    platforms.will("pinterest", (422, {}, {"code": 1, "message": "Not all", "details": events_told}))
    pixel = await new_pixel(db, "pinterest")
    await env.queue(pixel, *(new_event() for _ in range(3)))
    await env.run()
    found = await env.results(pixel)
    assert (found.sent, found.rejected) == (2, 1)
    assert found.reason == "pinterest answered 422: event_time is in the future"


PASSING: list[tuple[str, Any]] = [
    ("facebook", 500),
    ("facebook", 503),
    ("facebook", (400, {}, {"error": {"code": 4, "message": "Application request limit reached"}})),
    ("facebook", (403, {}, {"error": {"code": 80_004, "message": "too many calls"}})),
    ("facebook", (400, {}, {"error": {"code": 100, "is_transient": True, "message": "later"}})),
    ("tiktok", (200, {}, {"code": 40_100, "message": "Requests made too frequently"})),
    ("tiktok", (200, {}, {"code": 50_002, "message": "Internal error"})),
    ("pinterest", 429),
    ("pinterest", (503, {}, {"code": 4197, "message": "ramped down"})),
]


@pytest.mark.parametrize(("platform", "turn"), PASSING)
async def test_what_passes_is_tried_again(
    db: Database, env: Env, platforms: Platforms, platform: str, turn: Any
) -> None:
    platforms.will(platform, turn)
    pixel = await new_pixel(db, platform)
    (event,) = await env.queue(pixel)
    with capture_logs() as logged:
        await env.run()
    (batch,) = await env.batches()
    assert (batch.attempts, batch.run_at, batch.lease_until) == (1, START + jobs.wait_after(1), None)
    assert [each["error"] for each in logged] == [f"{platform} answered {turn if isinstance(turn, int) else turn[0]}"]
    assert (await env.results(pixel)).reason_at == START
    env.pass_by(seconds=2)
    await env.run()
    first, second = platforms.received()
    assert first.content == second.content
    assert (await env.nothing_is_left(), (await env.results(pixel)).sent) == (True, 1)
    assert second.content["data"][0]["event_id"] == event.id


@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        ("120", timedelta(seconds=120)),
        ("999999999999", timedelta(hours=1)),
        ("Tue, 01 Jan 2030 12:05:00 GMT", timedelta(minutes=5)),
        ("Tue, 01 Jan 2030 11:00:00 GMT", timedelta(seconds=2)),
        ("0", timedelta(seconds=2)),
        ("²", timedelta(seconds=2)),
        ("soon", timedelta(seconds=2)),
    ],
)
async def test_retry_after_is_kept_up_to_an_hour(
    db: Database, env: Env, platforms: Platforms, asked: str, waits: timedelta
) -> None:
    platforms.will("tiktok", (429, {"Retry-After": asked.encode().decode("latin-1")}, {}))
    await env.queue(await new_pixel(db, "tiktok"))
    await env.run()
    (batch,) = await env.batches()
    assert batch.run_at == START + waits


async def test_after_the_last_attempt_it_is_dropped_and_told(db: Database, env: Env, platforms: Platforms) -> None:
    platforms.will("facebook", *[500] * 8)
    pixel = await new_pixel(db, "facebook")
    await env.queue(pixel)
    for _ in range(8):
        await env.run()
        env.pass_by(hours=1)
    found = await env.results(pixel)
    assert (found.sent, found.rejected, found.dropped) == (0, 0, 1)
    assert found.reason == "given up after 8 attempts: facebook answered 500"
    assert await env.nothing_is_left()
    assert len(platforms.received()) == 8


async def test_as_much_of_the_visitor_as_is_kept(db: Database, env: Env, platforms: Platforms) -> None:
    for platform in SERVER_SIDE:
        pixel = await new_pixel(db, platform)
        await env.queue(pixel, new_event(ip="192.0.2.0"), new_event(ip="", referrer=""), new_event(user_agent=""))
    await env.run()
    assert {got.answer for got in platforms.received()} == {200}
    users = {
        got.platform: [event.get("user_data", event.get("user")) for event in got.events]
        for got in platforms.received()
    }
    short = {"client_ip_address": "192.0.2.0", "client_user_agent": BROWSER}
    assert users["facebook"] == [short, {"client_user_agent": BROWSER}]
    assert users["pinterest"] == [short]
    assert users["tiktok"] == [{"ip": "192.0.2.0", "user_agent": BROWSER}, {"user_agent": BROWSER}, {"ip": "192.0.2.7"}]


async def test_what_is_left_out_is_counted(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "pinterest")
    week = 7 * 86_400
    await env.queue(pixel, new_event(at=AT - week), new_event(ip=""), new_event())
    await env.run()
    found = await env.results(pixel)
    assert (found.sent, found.rejected, found.dropped) == (1, 0, 2)
    assert found.reason
    old = await new_pixel(db, "facebook")
    await env.queue(old, at=AT - week)
    await env.run()
    assert ((await env.results(old)).dropped, platforms.received("facebook")) == (1, [])


async def test_a_private_address_is_not_connected_to(db: Database, platforms: Platforms) -> None:
    url = platforms.url.replace("127.0.0.1", "127.0.0.2")
    async with open_env(db, platforms, dict.fromkeys(SERVER_SIDE, url)) as env:
        pixel = await new_pixel(db, "facebook")
        await env.queue(pixel)
        with capture_logs() as logged:
            await env.run()
        found = await env.results(pixel)
        assert "not public" in (found.reason or "")
        assert "127.0.0.2" not in f"{logged} {found}"
        assert len(await env.waiting()) == 1


async def test_a_platform_that_never_sends_a_final_status(db: Database, platforms: Platforms) -> None:
    """R28: ended at once, by the same bound as every other answer; the events wait for the next attempt."""
    async with (
        Receiver(endless_interim(), host="127.0.0.1") as receiver,
        open_env(db, platforms, dict.fromkeys(IDS, receiver.url())) as env,
    ):
        pixel = await new_pixel(db, "facebook")
        await env.queue(pixel)
        await env.run()
        await receiver.gone.wait()
        assert (await env.results(pixel)).reason == "facebook: too many interim responses (1xx)"
        assert len(await env.waiting()) == 1


async def test_secrets_under_another_key_wait_for_it(db: Database, env: Env, platforms: Platforms) -> None:
    pixel = await new_pixel(db, "facebook", keys=KeyRing(["another key"]))
    await env.queue(pixel)
    await env.run()
    assert "WAYPOST_SECRET_KEY" in ((await env.results(pixel)).reason or "")
    assert (platforms.received(), len(await env.waiting())) == ([], 1)


async def test_no_secret_waits_or_is_logged(db: Database, env: Env, platforms: Platforms) -> None:
    platforms.will("facebook", (500, {}, {"error": {"message": TOKENS["facebook"] + IDS["facebook"]}}))
    await env.queue(await new_pixel(db, "facebook"))
    with capture_logs() as logged:
        await env.run()
    reported = f"{await env.waiting()} {await env.batches()} {logged}"
    assert "answered 500" in reported
    assert TOKENS["facebook"] not in reported
    assert IDS["facebook"] not in reported


async def test_wanted_are_those_with_a_token(db: Database) -> None:
    with_token = {await new_pixel(db, platform) for platform in SERVER_SIDE}
    without = {await new_pixel(db, "facebook", token=None), await new_pixel(db, "google_ads", token="x"), new_id()}
    async with db.read() as tx:
        assert await events.find_with_server_events(tx, with_token | without) == with_token
