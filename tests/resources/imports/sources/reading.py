"""Opens sources on scripted servers, and reads all that they have."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from resources.imports.servers.scripted import TOKEN, ScriptedService
from servers import ALLOW

from waypost.outbound import Outbound
from waypost.resources.imports.source import HasClicks, LinkPage, Source, SourceClick, SourceLink, SourceOptions
from waypost.resources.imports.sources import open_source


@dataclass
class Waits:
    seconds: list[float] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    async def __call__(self, seconds: float, reason: str) -> None:
        self.seconds.append(seconds)
        self.reasons.append(reason)


@contextmanager
def source_of(name: str, service: ScriptedService, token: str = TOKEN, waits: Waits | None = None) -> Iterator[Source]:
    with service.running() as url:
        yield open_source(name, SourceOptions(url=url, token=token), Outbound(allow=ALLOW), waits or Waits())


async def read_pages(source: Source, cursor: str | None = None) -> list[LinkPage]:
    pages = [await source.link_page(cursor)]
    while pages[-1].next_cursor is not None:
        pages.append(await source.link_page(pages[-1].next_cursor))
    return pages


async def read_links(source: Source) -> list[SourceLink]:
    return [link for page in await read_pages(source) for link in page.links]


async def read_clicks(source: HasClicks) -> list[SourceClick]:
    page = await source.click_page(None)
    clicks = [*page.clicks]
    while page.next_cursor is not None:
        page = await source.click_page(page.next_cursor)
        clicks += page.clicks
    return clicks
