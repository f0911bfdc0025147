"""UTM parameters: written into the destination when a link is created or changed."""

import pytest
from resources.links.room import Room, faults

UTM = {"utm_source": "news letter", "utm_medium": "mail"}
QUERY = "utm_source=news%20letter&utm_medium=mail"


async def test_it_works(room: Room) -> None:
    link = await room.make(utm_params={"utm_medium": "mail", "utm_source": "news letter"})
    assert link["destination_url"] == room.site.url(f"/page/?{QUERY}")
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
async def test_how_they_are_written(room: Room, path: str, written: str) -> None:
    link = await room.make(destination_url=room.site.url(path), utm_params=UTM)
    assert link["destination_url"] == room.site.url(written)


async def test_empty_ones_are_left_out(room: Room) -> None:
    link = await room.make(utm_params={"utm_source": "", "utm_term": None, "utm_medium": "mail"})
    assert (link["utm_params"], link["destination_url"]) == (
        {"utm_medium": "mail"},
        room.site.url("/page/?utm_medium=mail"),
    )


async def test_a_change_needs_the_destination(room: Room) -> None:
    link = await room.make(utm_params=UTM)
    for params in (UTM, {}, None, {"colour": "red"}):
        assert "destination_url" in faults(await room.patch(link, {"utm_params": params}))


async def test_a_change_replaces_them(room: Room) -> None:
    link = await room.make(utm_params=UTM)
    changed = await room.changed(link, destination_url=link["destination_url"], utm_params={"utm_term": "x"})
    assert changed["destination_url"] == room.site.url("/page/?utm_term=x")
    assert changed["utm_params"] == {"utm_term": "x"}


async def test_they_move_to_a_new_destination(room: Room) -> None:
    link = await room.make(utm_params=UTM)
    changed = await room.changed(link, destination_url=room.site.url("/other"))
    assert (changed["destination_url"], changed["utm_params"]) == (room.site.url(f"/other/?{QUERY}"), UTM)


@pytest.mark.parametrize("nothing", [None, {}, {"utm_source": ""}])
async def test_they_can_be_removed(room: Room, nothing: object) -> None:
    link = await room.make(utm_params=UTM)
    changed = await room.changed(link, destination_url=link["destination_url"], utm_params=nothing)
    assert (changed["destination_url"], changed["utm_params"]) == (room.site.url("/page/"), {})


async def test_what_does_not_fit_any_more_is_refused(room: Room) -> None:
    long = room.site.url("/") + "x" * (2030 - len(room.site.url("/")))
    assert faults(await room.post({"destination_url": long, "utm_params": UTM})).keys() == {"destination_url"}
    link = await room.make(utm_params=UTM)
    assert faults(await room.patch(link, {"destination_url": long})).keys() == {"destination_url"}
