"""Renders a form, with the errors of a rejected submission."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from waypost.kit.errors import Invalid, RateLimited
from waypost.web.dashboard import Form, Views


def render_form(
    views: Views,
    request: Request,
    template: str,
    form: Form,
    error: Invalid | RateLimited | None = None,
    **context: Any,
) -> Response:
    if error is None:
        return views.page(request, template, form=form, **context)
    if isinstance(error, Invalid):
        return views.page(request, template, status=422, form=form.with_errors(error.errors), **context)
    seconds = "1 second" if error.retry_after == 1 else f"{error.retry_after} seconds"
    errors = {"body": [f"Too many attempts. Try again in {seconds}."]}
    response = views.page(request, template, status=429, form=form.with_errors(errors), **context)
    response.headers["Retry-After"] = str(error.retry_after)
    return response
