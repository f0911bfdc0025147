"""The commands of operations: parse, call one verb, print. Imports late, so that --help answers at once.

Results go to stdout; with --json they are one document, and what is meant for people goes to stderr.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from waypost.commands.clicks import export, stats
from waypost.commands.domains import domain
from waypost.commands.entry import invite, sign_in_link
from waypost.commands.qrcodes import qr
from waypost.commands.running import DONE, FAILED, WRONG_USAGE, say, with_settings
from waypost.commands.secrets import secrets
from waypost.commands.webhooks import webhook
from waypost.private_files import restrict_new_files

if TYPE_CHECKING:
    from waypost.settings import Settings

Plan = Literal["trial", "subscription", "past_due", "lifetime", "none"]
Role = Literal["all", "web", "redirect", "worker"]
AsJson = Annotated[bool, Parameter(name="--json", negative="")]
Account = Annotated[str, Parameter(name="--account")]


def _version() -> str:
    from importlib.metadata import version

    return f"waypost {version('waypost')}"


# plain text: rendering help as Markdown would take 0.1 s more
app = App(name="waypost", help="Branded short links, self-hosted.", help_format="plaintext", version=_version)
account = App(name="account", help="Accounts and their plans.")
key = App(name="key", help="API keys.")
for group in (account, key, domain, stats, export, webhook, secrets):
    app.command(group)
app.command(qr)
account.command(sign_in_link, name="sign-in-link")
account.command(invite)


@app.command
def serve(
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    workers: int | None = None,
    role: Role = "all",
    tls: Annotated[bool, Parameter(negative="")] = False,
    tls_port: int | None = None,
    data_dir: Path | None = None,
) -> int:
    """Run the service until SIGTERM or Ctrl-C.

    Parameters
    ----------
    host
        Address to listen on; 0.0.0.0 is every one.
    port
        Port to listen on; without it the one of a local WAYPOST_BASE_URL, else 8000, with --tls 80. With --role worker,
        the port of /healthz, /readyz and /metrics, 8001 unless named.
    workers
        Number of web processes, 1 unless named.
    role
        all: everything in one command. web: API, dashboard, redirects. redirect: redirects only. worker: jobs only.
    tls
        Serve HTTPS too, with certificates obtained by ACME (WAYPOST_TLS).
    tls_port
        Port for HTTPS, 443 unless named (WAYPOST_TLS_PORT).
    data_dir
        Where database, images and spool live (WAYPOST_DATA_DIR).

    """
    from waypost.commands import serving

    return serving.start(
        host=host, port=port, workers=workers, role=role, data_dir=data_dir, tls=tls, tls_port=tls_port
    )


@app.command
def migrate() -> int:
    """Bring the database to the current schema."""

    async def run(settings: "Settings") -> int:
        from waypost.commands.migrating import migrated

        before, after = await migrated(settings)
        say(f"The schema is {after} already." if before == after else f"The schema is now {after}.")
        return DONE

    return with_settings(run)


@account.command(name="create")
def create_account(
    email: str,
    /,
    *,
    name: str = "",
    password_stdin: Annotated[
        bool, Parameter(negative="", help="Read a password of 10 to 1,024 characters from the first line of stdin.")
    ] = False,
    plan: Plan | None = None,
    json: AsJson = False,
) -> int:
    """Create an account; its plan is WAYPOST_DEFAULT_PLAN unless named."""

    async def run(settings: "Settings") -> int:
        from waypost import auth
        from waypost.commands import opening, passwords, printing
        from waypost.kit import clock

        password = passwords.read_new_password(email.strip(), name) if password_stdin else None
        if password_stdin and password is None:
            return WRONG_USAGE
        async with opening.database(settings) as db:
            made = await auth.create_account(
                db,
                email=email,
                name=name or email.partition("@")[0],
                plan=plan or settings.default_plan,
                now=clock.now(),
                trial_days=settings.trial_days,
                password_hash=None if password is None else await auth.hash_password(password),
            )
        printing.show(printing.account(made), as_json=json)
        return DONE

    return with_settings(run)


@account.command(name="plan")
def set_plan(email: str, plan: Plan, /, *, trial_ends_at: str | None = None, json: AsJson = False) -> int:
    """Change an account's plan."""

    async def run(settings: "Settings") -> int:
        from waypost import auth
        from waypost.commands import opening, printing
        from waypost.kit import clock
        from waypost.kit.errors import Invalid

        if trial_ends_at is not None and plan != "trial":
            raise Invalid({"--trial-ends-at": [f"The plan {plan} has no trial: remove the option."]})
        ends_at = opening.moment("--trial-ends-at", trial_ends_at)
        async with opening.database(settings) as db:
            changed = await auth.set_plan(
                db,
                (await opening.account(db, email)).id,
                plan,
                now=clock.now(),
                trial_ends_at=ends_at,
                trial_days=settings.trial_days,
            )
        printing.show(printing.account(changed), as_json=json)
        return DONE

    return with_settings(run)


@account.command(name="list")
def list_accounts(*, json: AsJson = False) -> int:
    """List every account."""

    async def run(settings: "Settings") -> int:
        from waypost import auth
        from waypost.commands import opening, printing

        async with opening.database(settings) as db:
            printing.show([printing.account(each) for each in await auth.list_accounts(db)], as_json=json)
        return DONE

    return with_settings(run)


@key.command(name="create")
def create_key(
    *,
    account: Account,
    name: str,
    scope: Annotated[tuple[str, ...], Parameter(name="--scope", negative="")] = (),
    expires_at: str | None = None,
    json: AsJson = False,
) -> int:
    """Make an API key and print it, this once; it has every scope unless some are named."""

    async def run(settings: "Settings") -> int:
        from waypost import auth
        from waypost.commands import opening, printing
        from waypost.kit import clock
        from waypost.kit.errors import Invalid

        if repeated := sorted({each for each in scope if scope.count(each) > 1}):
            raise Invalid({"--scope": [f"{', '.join(repeated)}: Name each scope once."]})
        ends_at = opening.moment("--expires-at", expires_at)
        async with opening.database(settings) as db:
            owner = await opening.account(db, account)
            made, text = await auth.create_key(
                db,
                account_id=owner.id,
                name=name,
                scopes=scope,
                expires_at=ends_at,
                now=clock.now(),
            )
        printing.show(printing.new_key(made, text), as_json=json)
        return DONE

    return with_settings(run)


@key.command(name="revoke")
def revoke_key(key_id: str, /, *, json: AsJson = False) -> int:
    """Refuse a key from its next request on."""

    async def run(settings: "Settings") -> int:
        from waypost import auth
        from waypost.commands import opening, printing
        from waypost.kit import clock, ids
        from waypost.kit.errors import NotFound

        wanted = ids.parse_id(key_id)
        if wanted is None:
            raise NotFound(f"There is no key {key_id}: waypost key list shows the ids.")
        async with opening.database(settings) as db:
            revoked = await auth.revoke_key(db, wanted, now=clock.now())
        printing.show(printing.key(revoked), as_json=json)
        return DONE

    return with_settings(run)


@key.command(name="list")
def list_keys(*, account: Account, json: AsJson = False) -> int:
    """List an account's keys, newest first."""

    async def run(settings: "Settings") -> int:
        from waypost import auth
        from waypost.commands import opening, printing

        async with opening.database(settings) as db:
            owner = await opening.account(db, account)
            printing.show([printing.key(each) for each in await auth.list_keys(db, owner.id)], as_json=json)
        return DONE

    return with_settings(run)


@app.command
def doctor(*, json: AsJson = False) -> int:
    """Check everything the service stands on; say what is wrong and what to do."""
    import asyncio

    from waypost.commands import printing
    from waypost.commands.checking import read_checked
    from waypost.commands.doctor import examine

    findings = asyncio.run(examine(*read_checked()))
    printing.findings(findings, as_json=json)
    return FAILED if any(finding.state == "failed" for finding in findings) else DONE


@app.command
def backup(file: Path, /) -> int:
    """Write everything into one archive, while the service runs."""

    async def run(settings: "Settings") -> int:
        from waypost.commands.backup import write_backup

        for note in write_backup(settings, file):
            say(note)
        return DONE

    return with_settings(run)


def main() -> NoReturn:
    restrict_new_files()
    from waypost.commands.usage import refuse_without_command

    try:
        code = refuse_without_command(app) or app(exit_on_error=False, result_action="return_value")
    except CycloptsError:  # already told
        code = WRONG_USAGE
    except KeyboardInterrupt:
        code = FAILED
    except Exception as error:  # noqa: BLE001  # no traceback on a terminal; an unexpected one goes into a log line
        from waypost.commands.telling import tell

        code = tell(error)
    sys.exit(code or DONE)
