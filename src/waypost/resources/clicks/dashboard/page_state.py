"""What a page of statistics shows: its URL says it, and each link on the page leads to another state. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode


@dataclass(frozen=True, slots=True)
class PageState:
    path: str
    parameters: Mapping[str, str]
    """Time range, comparison and metric, as far as they were chosen."""

    def url(self, **changes: str) -> str:
        """Return the URL of the state with these parameters. Empty ones are left out."""
        parameters = {**self.parameters, **changes}
        if parameters.get("period", "custom") != "custom":
            parameters |= {"from": "", "to": ""}
        query = urlencode([(name, value) for name, value in parameters.items() if value])
        return f"{self.path}?{query}" if query else self.path

    def hidden(self) -> list[tuple[str, str]]:
        """Return what the form of the time range has no fields for."""
        return [(name, value) for name, value in self.parameters.items() if name == "metric"]
