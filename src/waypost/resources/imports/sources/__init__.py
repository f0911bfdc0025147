"""The sources of imports, one module each.

A module is named like its source in the command, with `_` for `-`. It has a function
`open_source(options: SourceOptions, outbound: Outbound, wait: Wait) -> Source`, which sends no request and raises
SourceError for options that it cannot use, such as a missing token.
"""

from importlib import import_module

from waypost.outbound import Outbound
from waypost.resources.imports.client import Wait
from waypost.resources.imports.source import Source, SourceOptions

NAMES = ("bitly", "rebrandly", "short-io", "dub", "yourls", "kutt", "shlink", "spoo-me", "csv", "waypost")


def open_source(name: str, options: SourceOptions, outbound: Outbound, wait: Wait) -> Source:
    """Load only this source's module. Raises SourceError. `name`: one of NAMES."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    source: Source = module.open_source(options, outbound, wait)
    return source
