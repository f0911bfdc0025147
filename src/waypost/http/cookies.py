"""Cookies of people's browsers, which no script can read and, over HTTPS, no other host of the domain can set."""

from starlette.requests import Request
from starlette.responses import Response


class Cookie:
    """Also comes with redirects from other sites, but not with their forms."""

    def __init__(self, name: str, *, is_secure: bool) -> None:
        self._name = f"__Host-{name}" if is_secure else name
        self._is_secure = is_secure

    def read(self, request: Request) -> str:
        return request.cookies.get(self._name, "")

    def set(self, response: Response, value: str, *, max_age: int) -> None:
        """`max_age`: in seconds; 0 deletes the cookie."""
        response.set_cookie(self._name, value, max_age=max_age, secure=self._is_secure, httponly=True, samesite="lax")
