"""Errors that callers see. A class's docstring is its message.

`web.envelope` maps them to HTTP. SettingsError is not one of them: it is for the operator.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

Errors = dict[str, list[str]]
T = TypeVar("T")


class WaypostError(Exception):
    """Something went wrong."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").partition("\n")[0])

    @property
    def message(self) -> str:
        return str(self.args[0])

    @property
    def details(self) -> str:
        """The message for operators, who may learn more than callers."""
        return self.message


class BadRequest(WaypostError):
    """The request could not be understood."""


class Unauthenticated(WaypostError):
    """A valid API key is required: send it as "Authorization: Bearer <key>"."""


class PaymentRequired(WaypostError):
    """The account has no active plan."""


class Forbidden(WaypostError):
    """The API key lacks the scope this endpoint needs."""


class NotFound(WaypostError):
    """The resource does not exist, or you do not have access to it."""


def or_not_found(value: T | None) -> T:
    """Return the value. Raises NotFound if it is None."""
    if value is None:
        raise NotFound
    return value


class MethodNotAllowed(WaypostError):
    """The URL does not support the method."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed = sorted(allowed)
        super().__init__(f"The URL does not support the method. Supported: {', '.join(self.allowed)}.")


class UnregistrableName(WaypostError):
    """The hostname cannot be registered."""


class InProgress(WaypostError):
    """A request with this Idempotency-Key is still running. Send it again in a moment."""

    retry_after = 1


class PreconditionFailed(WaypostError):
    """The resource has changed since the version in If-Match. Get it again, and send its new ETag."""


class TooLarge(WaypostError):
    """The request body is too large."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The request body is too large. The limit is {limit:,} bytes.")


class RateLimited(WaypostError):
    """Too many requests."""

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after
        """Whole seconds until the next request is accepted, at least 1."""


class Unavailable(WaypostError):
    """Waypost cannot do this right now. Try again in a moment."""

    retry_after = 1
    is_logged = False
    """Whether the log has it already: one line for an outage, not one for each request."""


class Invalid(WaypostError):
    """The given data was invalid."""

    def __init__(self, errors: Errors, reasons: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.errors = errors
        """Texts by field, as the API returns them."""
        self._reasons = reasons or {}

    @property
    def explained(self) -> Errors:
        """The errors, with the reason of a check that failed: for pages and operators."""
        return {
            name: [*texts, f"Reason: {self._reasons[name]}."] if name in self._reasons else texts
            for name, texts in self.errors.items()
        }

    @property
    def details(self) -> str:
        return "\n".join(f"{name}: {' '.join(texts)}" for name, texts in self.explained.items())


class Conflict(Invalid):
    """The given data was invalid."""


class SettingsError(Exception):
    """The configuration is wrong. The message is for the operator, and contains no secret."""


class Unreadable(str):
    """Says why a form could not read a field, in place of its value: `parse` reports it."""

    __slots__ = ()


class Problems:
    """Collects the problems with an input, so that one response names every field."""

    def __init__(self, errors: Errors | None = None) -> None:
        self.errors: Errors = dict(errors or {})
        self.reasons: dict[str, str] = {}
        """By field, why a check could not be done: the error of the field explained, or accepted by the settings."""

    def add(self, field: str, message: str) -> None:
        messages = self.errors.setdefault(field, [])
        if message not in messages:
            messages.append(message)

    def add_all(self, path: str, problems: "Problems") -> None:
        """Add the problems of an entry that was checked apart. `path`: where it is in the input."""
        for name, messages in problems.errors.items():
            for message in messages:
                self.add(f"{path}.{name}", message)

    def __contains__(self, field: str) -> bool:
        """Return whether the field, or an element or member of it, has a problem."""
        return any(name == field or name.startswith(f"{field}.") for name in self.errors)

    def __bool__(self) -> bool:
        return bool(self.errors)

    def raise_if_any(self) -> None:
        """Raise Invalid if there are problems."""
        if self.errors:
            raise Invalid(self.errors, self.reasons)
