"""Accounts without a shell: the operator creates and invites, changes plans, and creates sign-in links."""

from datetime import datetime, timedelta
from typing import cast, get_args

import structlog
from starlette.responses import Response
from starlette.routing import Route

from waypost import accounts
from waypost.accounts import Plan, PlanChoice
from waypost.accounts.members import store as memberships
from waypost.accounts.person_pages import PersonPages
from waypost.accounts.rules import build_plan, normalize_email
from waypost.accounts.setup import signup
from waypost.accounts.sign_in import service as sign_in
from waypost.audit import Actor
from waypost.kit.errors import Forbidden, Invalid, or_not_found
from waypost.web.dashboard import Form, PageCall, redirect

_PLANS: tuple[PlanChoice, ...] = get_args(PlanChoice)
_PLAN_OPTIONS = [(plan, plan.replace("_", " ").capitalize()) for plan in _PLANS]
_NO_PLAN = f"This must be one of: {', '.join(_PLANS)}."
_OPERATOR = "This is an operator. Create the link on the server: waypost account sign-in-link EMAIL"
_MAX_TRIAL = timedelta(days=3_660)
_OVER = "This day is over. To end the trial, choose the plan none."
_TOO_FAR = "A trial can last ten years. Choose the plan lifetime for what has no end."
_NO_DAY = "This must be a day, such as 2027-01-31."

log = structlog.get_logger(__name__)


class ManagementPages(PersonPages):
    def endpoints(self) -> list[Route]:
        new, invite, one = "/operator/accounts/new", "/operator/invite", "/operator/accounts/{id}"
        return [
            self.get(new, self.new, "operator"),
            self.form(new, self.create, "operator", self.new),
            self.get(invite, self.new_invitation, "operator"),
            self.form(invite, self.invite, "operator", self.new_invitation),
            self.get(f"{one}/plan", self.plan, "operator"),
            self.form(f"{one}/plan", self.change_plan, "operator", self.plan),
            self.get(f"{one}/sign-in-link", self.ask_link, "operator"),
            self.form(f"{one}/sign-in-link", self.create_link, "operator", self.ask_link),
        ]

    async def new(self, call: PageCall) -> Response:
        form = Form({"plan": self._deps.new_plan})
        context = await self._proof(call)
        return call.render("operator/new_account.html", form, plan_options=_PLAN_OPTIONS, **context)

    async def create(self, call: PageCall) -> Response:
        await self._require_proven(call)
        email, deps = call.form.text("email").strip(), self._deps
        account = await accounts.create_account(
            deps.db,
            email=email,
            name=call.form.text("name").strip() or email.partition("@")[0],
            plan=_plan(call.form),
            now=deps.clock(),
            trial_days=deps.trial_days,
            new_actor=Actor.operator,
        )
        log.info("account created by the operator", account=str(account.id), by=str(call.person.id))
        return redirect(f"/operator/accounts/{account.id}", "account-created")

    async def new_invitation(self, call: PageCall) -> Response:
        is_closed = self._deps.signup == "closed"
        return call.render("operator/invite.html", is_closed=is_closed, **await self._proof(call))

    async def invite(self, call: PageCall) -> Response:
        await self._require_proven(call)
        email = call.form.text("email")
        try:
            invitation = await signup.invite(self._deps, email)
        except Forbidden as error:
            raise Invalid({"email": [error.message]}) from None
        log.info("invitation created by the operator", by=str(call.person.id))
        about = f"Send this link to {normalize_email(email)}. It creates an account, once and within 7 days."
        return self._show_link(call, "Invitation", invitation.url, about, is_sent=invitation.is_sent)

    async def plan(self, call: PageCall) -> Response:
        account = await self._find(call)
        ends_at = account.plan.trial_ends_at
        form = Form({"plan": account.plan.type, "trial_ends_at": call.preferences.day_field(ends_at)})
        return await self._show_plan(call, account, form)

    async def _show_plan(
        self, call: PageCall, account: accounts.Account, form: Form, after: Plan | None = None
    ) -> Response:
        """`after`: what to confirm."""
        return call.render(
            "operator/plan.html",
            form,
            account=account,
            plan_options=_PLAN_OPTIONS,
            trial_days=self._deps.trial_days,
            before=_describe(account.plan, call),
            after=_describe(after, call) if after else "",
            **await self._proof(call),
        )

    async def change_plan(self, call: PageCall) -> Response:
        call = await self._require_proven(call)
        plan, now, days = _plan(call.form), self._deps.clock(), self._deps.trial_days
        ends_at = _last_day(call, now) if plan == "trial" else None
        after = build_plan(plan, now=now, trial_ends_at=ends_at, trial_days=days)
        if call.form.text("confirmed") != _describe(after, call):
            return await self._show_plan(call, await self._find(call), call.form, after)
        await accounts.set_plan(
            self._deps.db,
            call.id,
            plan,
            now=now,
            trial_days=days,
            trial_ends_at=ends_at,
            actor=Actor.operator(call.id),
        )
        log.info("plan changed by the operator", account=str(call.id), plan=plan, by=str(call.person.id))
        return redirect(f"/operator/accounts/{call.id}", "plan")

    async def ask_link(self, call: PageCall) -> Response:
        account = await self._find(call)
        async with self._deps.db.read() as tx:
            people = [member.person for member in await memberships.list_of_account(tx, call.id)]
        emails = [person.email for person in people if not person.is_operator]
        context = await self._proof(await self._after_sign_in(call))
        return call.render(
            "operator/ask_link.html", account=account, people=[(each, each) for each in emails], **context
        )

    async def create_link(self, call: PageCall) -> Response:
        await self._require_proven(await self._after_sign_in(call))
        email = call.form.text("email")
        async with self._deps.db.read() as tx:
            members = await memberships.list_of_account(tx, call.id)
        person = next((member.person for member in members if member.person.email == email), None)
        if person is None:
            raise Invalid({"email": ["This must be a member of the account."]})
        if person.is_operator:  # would need none of the factors of the other, or of the own person
            raise Invalid({"email": [_OPERATOR]})
        url = await sign_in.create_sign_in_link(self._deps, person.id, Actor.operator)
        log.info("sign-in link created by the operator", person=str(person.id), by=str(call.person.id))
        about = f"The first person who opens this link, within 15 minutes, is signed in as {email}."
        return self._show_link(call, "Sign-in link", url, about)

    def _show_link(self, call: PageCall, title: str, url: str, about: str, *, is_sent: bool | None = None) -> Response:
        """Show what is shown once. `is_sent`: None for what is never sent."""
        sends_mail = self._deps.sends_mail
        return call.render(
            "operator/link_once.html", title=title, url=url, about=about, is_sent=is_sent, sends_mail=sends_mail
        )

    async def _find(self, call: PageCall) -> accounts.Account:
        async with self._deps.db.read() as tx:
            return or_not_found(await accounts.find_account(tx, call.id))


def _plan(form: Form) -> PlanChoice:
    if form.text("plan") not in _PLANS:
        raise Invalid({"plan": [_NO_PLAN]})
    return cast("PlanChoice", form.text("plan"))


def _last_day(call: PageCall, now: datetime) -> datetime | None:
    """Return the end of the day. None if there is none. Raises Invalid, also for a likely typing error."""
    text = call.form.text("trial_ends_at")
    if not text:
        return None
    try:
        next_day = datetime.fromisoformat(text).date() + timedelta(days=1)
        ends_at = call.preferences.midnight(next_day) - timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise Invalid({"trial_ends_at": [_NO_DAY]}) from None
    if not now <= ends_at <= now + _MAX_TRIAL:
        raise Invalid({"trial_ends_at": [_OVER if ends_at < now else _TOO_FAR]})
    return ends_at


def _describe(plan: Plan, call: PageCall) -> str:
    return f"{plan.type} until {call.preferences.day(plan.trial_ends_at)}" if plan.trial_ends_at else plan.type
