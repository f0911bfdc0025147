"""`waypost member`, as an operator runs it."""

from pathlib import Path

from forked import alone
from test_cli import Waypost


def test_adds_changes_and_removes_members(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "waypost.db").write_bytes(sqlite_template.read_bytes())
    waypost = Waypost(tmp_path)
    ada = waypost.json("account", "create", "ada@example.com")
    of_ada = "--account", "ada@example.com"
    added = waypost.json("member", "add", "Bob@example.com", *of_ada, by=alone)
    assert {name: added[name] for name in ("email", "name", "role")} == {
        "email": "bob@example.com",
        "name": "bob",
        "role": "viewer",
    }
    waypost.json("member", "add", "eve@example.com", *of_ada, "--role", "admin")
    assert "already a member" in waypost("member", "add", "eve@example.com", *of_ada, code=1).stderr
    assert "waypost account sign-in-link" in waypost("member", "add", "sue@example.com", *of_ada).stderr
    listed = waypost.json("member", "list", *of_ada)
    assert [(each["email"].partition("@")[0], each["role"]) for each in listed] == [
        ("ada", "owner"),
        ("eve", "admin"),
        ("bob", "viewer"),
        ("sue", "viewer"),
    ]
    assert "eve@example.com" in waypost("member", "list", *of_ada).stdout
    assert "/enter/" in waypost.json("account", "sign-in-link", "bob@example.com")["url"]

    assert waypost.json("member", "role", "bob@example.com", "editor", *of_ada)["role"] == "editor"
    assert waypost("member", "role", "bob@example.com", "chief", *of_ada, code=2)
    assert "needs an owner" in waypost("member", "role", "ada@example.com", "admin", *of_ada, code=1).stderr
    assert "needs an owner" in waypost("member", "remove", "ada@example.com", *of_ada, code=1).stderr
    assert "not a member" in waypost("member", "remove", "nobody@example.com", *of_ada, code=1).stderr
    refused = waypost("member", "remove", "eve@example.com", *of_ada, "--keys-to", "bob@example.com", code=2)
    assert "--keys-to: Keys can only be handed over to an admin" in refused.stderr
    removed = waypost.json("member", "remove", "eve@example.com", *of_ada, "--keys-to", "ada@example.com")
    assert (removed["email"], removed["account"]) == ("eve@example.com", "ada@example.com")
    assert (
        "There is no account bob@example.com"
        in waypost("member", "list", "--account", "bob@example.com", code=1).stderr
    )
    waypost.json("member", "role", "bob@example.com", "owner", *of_ada)
    waypost.json("member", "remove", "ada@example.com", *of_ada)
    assert [each["id"] for each in waypost.json("account", "list")] == [ada["id"]]
    assert waypost.json("member", "list", "--account", "bob@example.com")[0]["role"] == "owner"
