"""Dependencies of the dashboard's pages of imports."""

from dataclasses import dataclass

from waypost.context import Context
from waypost.resources.imports.requests.uploads import Uploads


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    uploads: Uploads
