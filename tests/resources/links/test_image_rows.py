"""Images on PostgreSQL: two nodes, each with its own data directory, share them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from people import new_person
from resources.links.env import Env, open_env
from resources.links.test_images import image_bytes, upload
from sqlalchemy import text
from structlog.testing import capture_logs

from waypost.database import Database
from waypost.kit.errors import Unavailable
from waypost.resources.links.images.media import ReencodedImage, new_name
from waypost.resources.links.images.rows import ImageRows


@pytest.fixture
async def db(postgres_url: str) -> AsyncIterator[Database]:
    database = Database(postgres_url)
    yield database
    await database.close()


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    (tmp_path / "a").mkdir()
    async with open_env(db, tmp_path / "a") as env:
        yield env


@pytest.fixture
def other(db: Database, tmp_path: Path, env: Env) -> ImageRows:
    """Another node."""
    return ImageRows(db, tmp_path / "b", env.clock, cache_bytes=100_000)


def rows_of(env: Env) -> ImageRows:
    assert isinstance(env.deps.image_store, ImageRows)
    return env.deps.image_store


async def name_of(env: Env) -> str:
    return str((await upload(env, image_bytes()))["og_image"]).rpartition("/")[2]


async def content_of(store: ImageRows, name: str) -> bytes | None:
    found = await store.find(name)
    return found.read_bytes() if isinstance(found, Path) else found


def cached(directory: Path) -> list[Path]:
    return list((directory / "cache" / "images").glob("*.png"))


async def test_every_node_serves_an_image(env: Env, other: ImageRows, tmp_path: Path) -> None:
    name = await name_of(env)
    content = (await env.uploaded_images())[name]
    assert await content_of(other, name) == content
    assert [path.read_bytes() for path in cached(tmp_path / "b")] == [content]
    answer = await env.client.get(f"/media/{name}")
    assert (answer.status_code, answer.content) == (200, content)
    assert not (tmp_path / "a" / "media").exists()


async def test_all_nodes_send_the_same_headers(env: Env, other: ImageRows) -> None:
    name = await name_of(env)
    here = (await env.client.get(f"/media/{name}")).headers
    path = await other.find(name)
    assert isinstance(path, Path)
    assert path.stat().st_mtime == pytest.approx(env.clock().timestamp())
    again = (await env.client.get(f"/media/{name}")).headers
    assert {here[key] for key in ("etag", "last-modified")} == {again[key] for key in ("etag", "last-modified")}


@pytest.mark.parametrize("how", ["link deleted", "image replaced", "image removed"])
async def test_a_deleted_image_is_gone_on_all_nodes(env: Env, other: ImageRows, tmp_path: Path, how: str) -> None:
    link = await upload(env, image_bytes())
    name = link["og_image"].rpartition("/")[2]
    assert await other.find(name)
    if how == "link deleted":
        await env.delete(link)
    elif how == "image replaced":
        await env.send_form("PATCH", f"/{link['id']}", [], file=image_bytes("WEBP"))
    else:
        await env.changed(link, og_image=None)
    assert await other.find(name) is None
    assert name not in await env.uploaded_images()
    assert cached(tmp_path / "a") == []
    assert cached(tmp_path / "b") != []
    await other.clean_cache()
    assert cached(tmp_path / "b") == []


async def test_cleaning_keeps_images_of_links(env: Env, other: ImageRows, tmp_path: Path) -> None:
    name = await name_of(env)
    await other.find(name)
    await other.clean_cache()
    assert [path.name for path in cached(tmp_path / "b")] == [name]


@pytest.mark.parametrize("damage", ["removed", "emptied", "altered"])
async def test_a_damaged_file_is_read_from_the_database_again(
    env: Env, other: ImageRows, tmp_path: Path, damage: str
) -> None:
    name = await name_of(env)
    content = await content_of(other, name)
    assert content
    (path,) = cached(tmp_path / "b")
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "emptied" else content[:-1] + b"!")
    assert await content_of(other, name) == content
    assert path.read_bytes() == content


async def test_serves_from_the_database_when_the_disk_is_not_writable(
    env: Env, other: ImageRows, tmp_path: Path
) -> None:
    (tmp_path / "b").write_text("a file where the directory should be")
    name = await name_of(env)
    with capture_logs() as logged:
        assert await other.find(name) == (await env.uploaded_images())[name]
    assert [entry["event"] for entry in logged] == ["image not cached"]
    assert await other.find("0" * 32 + ".png") is None


async def test_concurrent_requests_read_an_image_once(
    env: Env, other: ImageRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, adds = await name_of(env), []
    add = other._cache.add
    monkeypatch.setattr(other._cache, "add", lambda *a, **b: (adds.append(a), add(*a, **b))[1])
    monkeypatch.setattr(other, "_loading", asyncio.Semaphore(1))
    assert all(await asyncio.gather(*(other.find(name) for _ in range(20))))
    assert len(adds) == 1


async def test_requests_share_the_next_statement(
    env: Env, other: ImageRows, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, begun = await name_of(env), []
    point_read = db.point_read
    monkeypatch.setattr(db, "point_read", lambda: (begun.append(1), point_read())[1])
    await other.find(name)  # into the cache
    begun.clear()
    first = asyncio.create_task(other.find(name))
    while not begun:
        await asyncio.sleep(0)
    others = [asyncio.create_task(other.find(name)) for _ in range(20)]
    await asyncio.sleep(0)
    others[0].cancel()
    assert all(await asyncio.gather(first, *others[1:]))
    assert len(begun) == 2
    assert (other._running, other._next) == ({}, {})


async def test_deletes_images_that_no_link_has(env: Env, other: ImageRows) -> None:
    """A process may end between saving an image and the commit of its link, or after the commit that replaced it."""
    name = await name_of(env)
    unused = await other.save(ReencodedImage(b"content", "png"))
    await other.delete_unused()
    assert (await env.uploaded_images()).keys() == {name, unused.name}  # its link may still be written
    env.clock.move(timedelta(hours=2))
    await other.delete_unused()
    assert (await env.uploaded_images()).keys() == {name}


async def test_a_commit_without_confirmation_keeps_the_image(env: Env, other: ImageRows) -> None:
    name = await name_of(env)
    await other.delete(name)
    assert await content_of(other, name)


async def test_without_the_database_no_image_is_served(env: Env, tmp_path: Path) -> None:
    gone = Database("postgresql://waypost@127.0.0.1:1/waypost")
    with pytest.raises(Unavailable):
        await ImageRows(gone, tmp_path / "b", env.clock).find(new_name("png"))
    with capture_logs() as logged:
        await ImageRows(gone, tmp_path / "b", env.clock).delete(new_name("png"))
    assert [entry["event"] for entry in logged] == ["image not deleted, the worker will retry"]
    await gone.close()


async def test_finds_an_image_by_an_index(db: Database) -> None:
    await new_person(db, "Alice")
    async with db.write() as tx:
        await tx.execute(text("SET LOCAL enable_seqscan = off"))
        plan = await tx.scalars(text("EXPLAIN SELECT 1 FROM links WHERE og_image_file_name = 'a'"))
        assert "ix_links_image" in "\n".join(plan)
