"""Errors whose page says what to do next."""

from waypost.kit.errors import WaypostError


class PageError(WaypostError):
    """Combine it with the class that has the status: `class LinkExpired(PageError, NotFound)`."""

    def __init__(self, message: str, *, title: str, next_step: tuple[str, str] | None = None) -> None:
        super().__init__(message)
        self.title = title
        self.next_step = next_step
        """URL and label of the page's button."""
