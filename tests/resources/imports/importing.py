"""Runs imports for tests: from links in memory, or from a file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from contexts import new_context
from people import FakeClock, Person

from waypost.audit import Actor
from waypost.database import Database, KeyRing
from waypost.outbound import DestinationChecker, Outbound, UrlSafety
from waypost.resources.clicks.intake.build import IntakeSettings
from waypost.resources.imports import lease, service
from waypost.resources.imports.clicks import ClickWriter, SqlClickWriter
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.preview import Preview
from waypost.resources.imports.report import Report
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import Address, LinkPage, Source, SourceLink, SourceOptions
from waypost.resources.imports.sources.csv import Csv, open_source
from waypost.settings.reserved import RESERVED

SHARED = "go.test"
INTAKE = IntakeSettings((), "full", lambda address: "DE" if address else "", b"key")
KEYS = KeyRing(["a key"])
THEN = datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)


def link(source_id: str, path: str | None = None, hostname: str | None = "old.example", **fields: Any) -> SourceLink:
    """A link whose path is its id, unless another one is given."""
    address = Address(hostname, source_id if path is None else path)
    return SourceLink(source_id, address, **({"destination_url": f"https://example.com/{source_id}"} | fields))


@dataclass
class Pages:
    """A source with these pages. `cursor`s are their numbers."""

    pages: Sequence[Sequence[SourceLink]]
    ignores_case: bool = False
    is_of_file: bool = False
    asked: list[str | None] = field(default_factory=list)
    name: ClassVar[str] = "dub"

    async def check(self) -> None:
        pass

    async def link_page(self, cursor: str | None) -> LinkPage:
        self.asked.append(cursor)
        number = int(cursor or 0)
        is_last = number + 1 == len(self.pages)
        return LinkPage(self.pages[number], None if is_last else str(number + 1), is_of_file=self.is_of_file)


def new_deps(
    db: Database,
    clock: FakeClock | None = None,
    changes: list[str] | None = None,
    click_writer: ClickWriter | None = None,
    destination_checker: DestinationChecker | None = None,
    directory: Path = Path("data"),
) -> Deps:
    publish = ([] if changes is None else changes).extend
    context = new_context(
        db, clock or FakeClock(), publish, directory=directory, key_ring=KEYS, reserved=RESERVED, own_hosts=(SHARED,)
    )
    return Deps(
        **vars(context),
        destination_checker=destination_checker or DestinationChecker(Outbound(), UrlSafety()),
        intake=lambda: INTAKE,
        click_writer=click_writer or SqlClickWriter(),
    )


async def run(deps: Deps, who: Person, source: Source, **options: Any) -> Report:
    """`options`: `domains` and `clicks`, as `service.create` takes them."""
    await source.check()
    import_ = await service.create(deps, Actor.system(who.account_id), source.name, options)
    await run_to_the_end(ImportRun(deps, source, import_, lease.holder()))
    return await service.get_report(deps.db, await service.get(deps.db, who.account_id, import_.id))


async def preview(deps: Deps, who: Person, source: Source, **options: Any) -> Report:
    await source.check()
    new = service.new_import(deps, Actor.system(who.account_id), source.name, options)
    planned = Preview(deps, source, new)
    await run_to_the_end(planned)
    return planned.report


async def run_to_the_end(run: ImportRun | Preview) -> None:
    error = None
    try:
        await run.start()
        while await run.step():
            pass
    except Exception as caught:
        error = caught
        raise
    finally:
        await run.stop(error)


def csv_source(file: Path, content: str | bytes, **options: Any) -> Csv:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())

    async def never(_seconds: float, _reason: str) -> None:
        raise AssertionError

    return open_source(SourceOptions(file=file, **options), Outbound(), never)
