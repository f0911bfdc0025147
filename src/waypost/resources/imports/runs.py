"""Runs an import from any source."""

from waypost.resources.imports.archive.importer import ArchiveImporter
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.importer import Importer
from waypost.resources.imports.model import Import
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import Source


def new_run(
    deps: Deps, source: Source | Archive, import_: Import, holder: str, *, is_dry_run: bool = False
) -> ImportRun:
    """`holder`: see `lease.holder`."""
    if isinstance(source, Archive):
        return ArchiveImporter(deps, source, import_, holder, is_dry_run=is_dry_run)
    return Importer(deps, source, import_, holder, is_dry_run=is_dry_run)
