"""Another installation of Waypost, by the archive of an account."""

from waypost.outbound import Outbound
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.client import Wait
from waypost.resources.imports.source import SourceError, SourceOptions


def open_source(options: SourceOptions, _outbound: Outbound, _wait: Wait) -> Archive:
    if options.file is None:
        raise SourceError("Name the ZIP file of `waypost export all` or of the dashboard with --file.")
    return Archive.open(options.file)
