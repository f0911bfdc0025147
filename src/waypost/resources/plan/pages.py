"""The plan page, with links to Stripe where it is configured."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import structlog
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import REQUESTS_PER_MINUTE
from waypost.kit.errors import RateLimited, Unavailable
from waypost.resources.plan import service
from waypost.resources.plan.deps import Deps
from waypost.resources.plan.usage import count_usage
from waypost.web import headers_of, status_of
from waypost.web.dashboard import PageCall, Pages, redirect
from waypost.web.dashboard.notices import notice_of
from waypost.web.dashboard.views import HEADERS

# Browsers apply this policy to the redirects of a form, too. The hosts of checkout and customer portal are chosen by
# Stripe, or are custom domains of the operator.
_POLICY = HEADERS["Content-Security-Policy"].replace("form-action 'self'", "form-action 'self' https:")

_DAY = timedelta(days=1)

log = structlog.get_logger(__name__)


class PlanPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/plan", self.show, "view"),
            self.form("/plan/checkout", self.create_checkout, "plan.write"),
            self.get("/plan/paid", self.paid, "plan.write"),
            self.form("/plan/portal", self.open_portal, "plan.write"),
        ]

    async def show(self, call: PageCall) -> Response:
        is_refused = call.request.query_params.get("done") == "refused"
        is_over = self._auth.has_active_plan(call.session) if is_refused else self._deps.stripe is None
        return await self._page(call, notice="" if is_over else notice_of(call.request))

    async def create_checkout(self, call: PageCall) -> Response:
        price = call.form.text("price")
        return await self._redirect(call, lambda: service.create_checkout(self._deps, call.session.account, price))

    async def open_portal(self, call: PageCall) -> Response:
        return await self._redirect(call, lambda: service.open_portal(self._deps, call.session.account))

    async def paid(self, call: PageCall) -> Response:
        """Handle the return from Stripe after a payment. If Stripe is unavailable, its event updates the plan."""
        try:
            await self._auth.limit_expensive(call.session, "stripe")
            await service.sync_checkout(self._deps, call.session.account, call.query("checkout")[:255])
        except (RateLimited, Unavailable) as error:
            log.warning("payment not checked, waiting for the event from Stripe", reason=error.message)
        return redirect("/plan", "paid")

    async def _redirect(self, call: PageCall, find_url: Callable[[], Awaitable[str]]) -> Response:
        try:
            await self._auth.limit_expensive(call.session, "stripe")
            return redirect(await find_url())
        except (RateLimited, Unavailable) as error:
            page = await self._page(call, status=status_of(error), error=error.message)
            page.headers.update(headers_of(error))
            return page

    async def _page(self, call: PageCall, *, status: int = 200, **context: Any) -> Response:
        account, now = call.session.account, self._deps.clock()
        left = account.plan.trial_ends_at - now if account.plan.trial_ends_at else None
        shared: dict[str, Any] = {
            "plan": account.plan,
            "has_active_plan": account.plan.is_active(now),
            "days_left": max(0, -(-left // _DAY)) if left else 0,
            "customer": await service.find_customer(self._deps, account),
            "is_sold": self._deps.stripe is not None or account.plan.type != "lifetime",
            "usage": await count_usage(self._deps, account.id),
            "links_count": await service.count_account_links(self._deps, account),
            "prices": self._deps.prices if self._deps.stripe else (),
            "has_stripe": self._deps.stripe is not None,
            "per_minute": REQUESTS_PER_MINUTE,
            "error": "",
        }
        response = call.render("plan/plan.html", status=status, **shared | context)
        response.headers["Content-Security-Policy"] = _POLICY
        return response
