"""The HTTP status and headers of each error."""

from waypost.kit import errors

STATUSES: dict[type[errors.WaypostError], int] = {
    errors.BadRequest: 400,
    errors.Unauthenticated: 401,
    errors.PaymentRequired: 402,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.MethodNotAllowed: 405,
    errors.UnregistrableName: 406,
    errors.InProgress: 409,
    errors.PreconditionFailed: 412,
    errors.TooLarge: 413,
    errors.Invalid: 422,
    errors.RateLimited: 429,
    errors.Unavailable: 503,
}


def status_of(error: errors.WaypostError) -> int:
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def headers_of(error: errors.WaypostError) -> dict[str, str]:
    match error:
        case errors.Unauthenticated():
            return {"WWW-Authenticate": "Bearer"}
        case errors.MethodNotAllowed():
            return {"Allow": ", ".join(error.allowed)}
        case errors.InProgress() | errors.RateLimited() | errors.Unavailable():
            return {"Retry-After": str(error.retry_after)}
        case _:
            return {}
