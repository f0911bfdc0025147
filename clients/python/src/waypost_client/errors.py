"""The errors that calls raise. All are a `WaypostError`."""

from collections.abc import Mapping, Sequence


class WaypostError(Exception):
    """Something went wrong. Errors without a class of their own have a `status`, such as 413."""

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """HTTP status; None if there was no response."""
        self.code = code
        """Code for programs, such as `not_found`; None if the service did not send one."""


class ValidationError(WaypostError):
    """The service refused the request. `errors` has the problems of each field."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        errors: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(message, status=status, code=code)
        self.errors = {field: list(problems) for field, problems in (errors or {}).items()}

    def __str__(self) -> str:
        return " ".join([self.message, *(f"{field}: {' '.join(each)}" for field, each in self.errors.items())])


class Unauthenticated(WaypostError):
    """The API key is missing, wrong, revoked or expired."""


class PaymentRequired(WaypostError):
    """The account has no active plan."""


class Forbidden(WaypostError):
    """The API key lacks a scope, or the person who created it lacks a role."""


class NotFound(WaypostError):
    """There is no such object in the account."""


class RateLimited(WaypostError):
    """Too many requests with this API key, and waiting would have taken too long."""

    def __init__(
        self, message: str, *, status: int | None = None, code: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, status=status, code=code)
        self.retry_after = retry_after
        """Seconds after which the request may be sent again; None if the service did not say."""


class ServerError(WaypostError):
    """The service failed, or is busy or unavailable."""

    def __init__(
        self, message: str, *, status: int | None = None, code: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, status=status, code=code)
        self.retry_after = retry_after
        """Seconds after which the request may be sent again; None if the service did not say."""


class ConnectionFailed(WaypostError):
    """There was no complete response: the connection failed or took too long."""


class UnexpectedResponse(WaypostError):
    """The response is not one of Waypost, for example because `base_url` is wrong."""


class SignatureError(WaypostError):
    """The request is not a genuine or not a recent delivery of the webhook."""
