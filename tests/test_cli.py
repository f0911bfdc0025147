"""The commands, as an operator or a script runs them: real processes, exit codes, what is on which stream."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import forked
import pytest
from architecture.code import ROOT
from architecture.test_docs import COMMANDS

from waypost.version import VERSION, checked_out_commit

SCOPES = ["links:read", "links:write", "domains:read", "domains:write", "pixels:read", "pixels:write"]


class Waypost:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0, by=forked.run, **settings: str):
        """`by=forked.alone`: as a shell would, which takes a second or two."""
        done = by(arguments, cwd=self.directory, env=self.environment | settings, stdin=stdin)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stdout
        return done

    def json(self, *arguments: str, **rest):
        return json.loads(self(*arguments, "--json", **rest).stdout)


@pytest.fixture
def empty(tmp_path: Path) -> Waypost:
    return Waypost(tmp_path)


@pytest.fixture
def waypost(tmp_path: Path, sqlite_template: Path) -> Waypost:
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(sqlite_template, tmp_path / "data" / "waypost.db")
    return Waypost(tmp_path)


def test_creates_an_account_and_a_key(empty: Waypost) -> None:
    assert empty("migrate", by=forked.alone).stderr.startswith("The schema is now at")
    assert empty("migrate").stderr.startswith("The schema is current (")
    made = empty.json("account", "create", "Alice@Example.com", "--plan", "lifetime", by=forked.alone)
    assert (made["email"], made["name"], made["plan"]) == ("alice@example.com", "Alice", "lifetime")
    key = empty.json("key", "create", "--account", "alice@example.com", "--name", "first", by=forked.alone)
    assert list(key) == ["id", "key", "scopes", "expires_at"]
    assert key["key"].startswith("wp_live_")
    assert (key["scopes"], key["expires_at"]) == ([*SCOPES, "webhooks:manage"], None)


def test_help_names_all_scopes_and_errors_name_options(waypost: Waypost) -> None:
    shown = waypost("key", "create", "--help").stdout
    assert [scope for scope in (*SCOPES, "webhooks:manage") if scope not in shown] == []
    waypost("account", "create", "alice@example.com")
    key = ["key", "create", "--account", "alice@example.com"]
    assert waypost(*key, "--name", "", "--scope", "other", code=2).stderr.split(": This")[0] == "--name"
    assert "--scope: This must be one of" in waypost(*key, "--name", "a", "--scope", "other", code=2).stderr
    assert waypost("account", "invite", "nobody", code=2).stderr.startswith("EMAIL: This must be an email address")


def test_creates_lists_and_revokes_keys(waypost: Waypost) -> None:
    waypost("account", "create", "alice@example.com")
    own = ["--account", "alice@example.com"]
    options = ["--scope", "links:write", "--scope", "links:read", "--expires-at", "2999-01-01T00:00:00+01:00"]
    made = waypost.json("key", "create", *own, "--name", "narrow", *options)
    assert (made["scopes"], made["expires_at"]) == (["links:read", "links:write"], "2998-12-31T23:00:00.000000Z")
    assert waypost.json("key", "revoke", made["id"], by=forked.alone)["revoked_at"]
    [listed] = waypost.json("key", "list", *own, by=forked.alone)
    assert (listed["id"], listed["name"], listed["prefix"]) == (made["id"], "narrow", made["key"][:12])
    assert made["key"] not in json.dumps(listed)
    assert made["id"] in waypost("key", "list", *own).stdout


def test_changes_the_plan_of_an_account(waypost: Waypost) -> None:
    waypost("account", "create", "alice@example.com", "--name", "Alice", WAYPOST_DEFAULT_PLAN="lifetime")
    assert [each["plan"] for each in waypost.json("account", "list", by=forked.alone)] == ["lifetime"]
    trial = ["trial", "--trial-ends-at", "2999-01-01T00:00:00Z"]
    changed = waypost.json("account", "plan", "alice@example.com", *trial, by=forked.alone)
    assert (changed["plan"], changed["trial_ends_at"]) == ("trial", "2999-01-01T00:00:00.000000Z")
    assert "alice@example.com" in waypost("account", "list").stdout


def test_a_password_comes_from_stdin_and_is_never_shown(waypost: Waypost) -> None:
    done = waypost("account", "create", "alice@example.com", "--password-stdin", stdin="correct horse battery\n")
    assert "correct horse" not in done.stdout + done.stderr
    database = (waypost.directory / "data" / "waypost.db").read_bytes()
    log = waypost.directory / "data" / "waypost.db-wal"
    content = database + (log.read_bytes() if log.exists() else b"")
    assert b"$argon2id$" in content
    assert b"correct horse" not in content


def test_a_refused_password_creates_no_account(waypost: Waypost) -> None:
    """R37: an empty line made an account that anybody could enter."""
    create = ["account", "create", "alice@example.com", "--name", "Alice Doe Ltd.", "--password-stdin"]
    refused = (
        "",
        "\n",
        "\r\n",
        "nine char\n",
        "x" * 1_025,
        "é" * 5_000,
        "ALICE@example.com\n",
        "alice doe ltd.\n",
        "password123\n",
    )
    for line in refused:
        done = waypost(*create, stdin=line, code=2)
        assert done.stderr.startswith(("--password-stdin: The password ", "--password-stdin: This password "))
        assert done.stdout == ""
        assert len(line.strip()) < 9 or line.strip() not in done.stderr
    assert json.loads(waypost("account", "list", "--json").stdout) == []
    waypost(*create, stdin="four" + "é" * 1_020 + "\r\nnot the password\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["key", "create", "--account", "nobody@example.com", "--name", "x"], 1, "no account nobody@example.com"),
        (["key", "revoke", "first"], 1, "There is no key first"),
        (["key", "revoke", "01a1fbb2-2855-72ee-8e77-c161c4205e89"], 1, "There is no key"),
        (["account", "create", "nobody"], 2, "EMAIL: "),
        (["account", "plan", "a@example.com", "trial", "--trial-ends-at", "soon"], 2, "--trial-ends-at: soon is not"),
        (["account", "plan", "a@example.com", "none", "--trial-ends-at", "2030-01-01"], 2, "--trial-ends-at: The plan"),
        (["account", "plan", "a@example.com", "trial"], 1, "no account a@example.com"),
        (["key", "create", "--account", "a@example.com", "--name", "x", "--expires-at", ""], 2, "--expires-at: "),
        (
            ["key", "create", "--account", "a@b.c", "--name", "x", *(["--scope", "links:read"] * 2)],
            2,
            "--scope: links:read",
        ),
        (["key"], 2, "waypost key COMMAND"),
        (["key", "mint"], 2, "mint"),
        (["account", "list", "--jsno"], 2, "--jsno"),
        (["migrate", "now"], 2, "now"),
        (["serve", "--role", "cook"], 2, "cook"),
        (["serve", "--role", "worker", "--workers", "3"], 2, "--workers: This has no effect"),
        (["serve", "--tls-port", "8443"], 2, "--tls-port: This has no effect without --tls"),
        (["account", "create", "a@example.com", "--plan", "gold"], 2, "gold"),
        (["serve", "--port", "70000"], 2, "--port"),
        (["serve", "--workers", "0"], 2, "--workers"),
        (["sevre"], 2, "sevre"),
        (["key", "create"], 2, "--account"),
    ],
)
def test_reports_errors_on_stderr(waypost: Waypost, arguments: list[str], code: int, message: str) -> None:
    done = waypost(*arguments, code=code)
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["", *COMMANDS])
@pytest.mark.parametrize("wrong", [["--no-such-option"], ["--json=perhaps"], ["one", "too", "many", "words"]])
def test_wrong_usage_of_each_command_exits_with_2(waypost: Waypost, command: str, wrong: list[str]) -> None:
    done = waypost(*command.split()[1:], *wrong, code=2)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_refuses_invalid_settings_before_it_starts(empty: Waypost) -> None:
    done = empty("serve", code=2, by=forked.alone, WAYPOST_BASE_ULR="http://localhost")
    assert done.stderr == "WAYPOST_BASE_ULR is not a setting. Did you mean WAYPOST_BASE_URL?\n"
    assert list(empty.directory.iterdir()) == []


@pytest.mark.parametrize("arguments", [["account", "list"], ["serve", "--role", "web"]])
def test_does_not_create_a_missing_database(empty: Waypost, arguments: list[str]) -> None:
    assert empty(*arguments, code=1).stderr == "There is no database yet. Run: waypost migrate\n"
    assert not (empty.directory / "data" / "waypost.db").exists()


@pytest.mark.parametrize("arguments", [["account", "list"], ["migrate"], ["serve"], ["serve", "--role", "worker"]])
def test_names_an_unreachable_server(empty: Waypost, arguments: list[str]) -> None:
    done = empty(*arguments, code=1, WAYPOST_DATABASE_URL="postgresql://waypost:hunter2@127.0.0.1:1/waypost")
    assert done.stderr.startswith("The database 127.0.0.1:1 cannot be used: ")
    assert "refused" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("arguments", [["account", "list"], ["migrate"], ["serve"]])
def test_names_a_file_that_is_not_a_database(empty: Waypost, arguments: list[str]) -> None:
    (empty.directory / "notes.txt").write_text("not a database" * 100)
    done = empty(*arguments, code=1, WAYPOST_DATABASE_URL="sqlite:///notes.txt")
    assert done.stderr.startswith("The database notes.txt cannot be used: file is not a database. The file is damaged")


def test_names_a_missing_directory(empty: Waypost) -> None:
    done = empty("migrate", code=1, by=forked.alone, WAYPOST_DATABASE_URL="sqlite:///none/waypost.db")
    assert done.stderr == "The database none/waypost.db cannot be used: unable to open database file\n"


def test_an_existing_account_exits_with_1(waypost: Waypost) -> None:
    waypost("account", "create", "alice@example.com")
    for command in ("create", "invite"):
        assert "EMAIL: An account" in waypost("account", command, "alice@example.com", code=1).stderr


def test_prints_the_version_and_the_commit_of_the_checkout(empty: Waypost) -> None:
    shown = empty("--version", by=forked.alone).stdout
    assert shown == f"waypost {VERSION} ({checked_out_commit(ROOT) or 'commit unknown'})\n"


FAULTS = {
    "WAYPOST_Trial_Days": "7",
    "WAYPOST_TRIAL_DAYS": "8",
    "WAYPOST_BASE_ULR": "https://app.example.com",
    "WAYPOST_COLOR": "red",
    "WAYPOST_SECRET_KEY": "hunter2",
    "WAYPOST_STRIPE_SECRET_KEY": "sk_live_hunter2",
    "WAYPOST_OUTBOUND_CA_FILE": "notes.txt",
    "WAYPOST_BLOCKLIST": "missing.txt",
    "WAYPOST_GEOIP_DATABASE": "notes.txt",
    "WAYPOST_DNS_SERVERS": "dns.example",
    "WAYPOST_TRUSTED_PROXIES": "10.0.0.0/33",
    "WAYPOST_DATABASE_URL": "postgresql://waypost:hunter2@db:port/waypost",
    "WAYPOST_SMTP_URL": "mail:hunter2",
    "WAYPOST_DATA_DIR": "notes.txt",
    "WAYPOST_CLICK_RETENTION_DAYS": "9" * 30,
}
NAMED = {
    *(FAULTS.keys() - {"WAYPOST_Trial_Days", "WAYPOST_STRIPE_SECRET_KEY"}),
    "WAYPOST_STRIPE_WEBHOOK_SECRET",
    "WAYPOST_STRIPE_PRICES",
}


@pytest.mark.parametrize("arguments", [["serve"], ["serve", "--role", "worker"], ["migrate"], ["account", "list"]])
def test_reports_all_invalid_settings_at_once(empty: Waypost, arguments: list[str]) -> None:
    (empty.directory / "notes.txt").write_text("some notes")
    done = empty(*arguments, code=2, **FAULTS)
    assert {line.partition(":")[0].partition(" ")[0] for line in done.stderr.splitlines()} == NAMED
    assert "hunter2" not in done.stderr
    assert done.stdout == ""
    assert [path.name for path in empty.directory.iterdir()] == ["notes.txt"]


def test_doctor_reports_the_same_invalid_settings(empty: Waypost) -> None:
    (empty.directory / "notes.txt").write_text("some notes")
    done = empty("doctor", "--json", code=1, **FAULTS)
    findings = json.loads(done.stdout)
    faults = {finding["message"] for finding in findings if finding["check"] == "settings"}
    assert faults == set(empty("serve", code=2, **FAULTS).stderr.splitlines())
    assert "clock" in {finding["check"] for finding in findings}
    assert "hunter2" not in done.stdout + done.stderr
    for fault in faults:
        assert fault in " ".join(empty("doctor", code=1, **FAULTS, COLUMNS="2000").stdout.splitlines())


def test_names_a_data_directory_that_cannot_be_created(empty: Waypost) -> None:
    (empty.directory / "file").touch()
    assert "WAYPOST_DATA_DIR" in empty("serve", "--data-dir", "file/data", code=2).stderr


def test_help_imports_no_heavy_modules() -> None:
    script = "import sys; sys.argv = ['waypost', '--help']; from waypost.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not loaded & {"asyncio", "sqlalchemy", "pydantic", "starlette", "uvicorn", "structlog", "rich.markdown"}
    assert "serve" in done.stdout
