"""`waypost import`: options, report and exit codes, as an operator or a script runs it."""

import json
from pathlib import Path

import pytest
from test_cli import Waypost, waypost

__all__ = ["waypost"]

CSV = "Destination URL,Short link,Title\nhttps://example.com/1,old.example/a,One\nftp://example.com,old.example/b,\n"


@pytest.fixture
def file(tmp_path: Path, waypost: Waypost) -> str:
    waypost("account", "create", "alice@example.com", "--plan", "lifetime")
    path = tmp_path / "links.csv"
    path.write_text(CSV)
    return str(path)


def test_imports_a_csv_file_and_reports_it(waypost: Waypost, file: str) -> None:
    arguments = "import", "csv", "--account", "alice@example.com", "--file", file
    dry = waypost.json(*arguments, "--dry-run")
    done = waypost(*arguments, "--json")
    assert "Plan, by the first 2 of 2 links: 1 new, 0 changed, 1 refused.\n" in done.stderr
    report = json.loads(done.stdout)
    assert dry == report
    assert report["links"] == {"found": 2, "created": 1, "updated": 0, "unchanged": 0, "refused": 1}
    assert (report["source"], report["aliases"], report["clicks"]) == ("csv", 0, 0)
    assert [row["source_id"] for row in report["refused"]] == ["old.example/b"]
    assert waypost.json(*arguments)["links"]["unchanged"] == 1
    shown = waypost(*arguments).stdout
    assert shown.startswith("Links: 2 found, 0 created, 0 updated, 1 unchanged, 1 refused.\n")
    assert "Refused: old.example/b: Line 3: The URL must start with http:// or https://.\n" in shown


def test_reports_imported_totals_to_people_only(waypost: Waypost, file: str) -> None:
    Path(file).write_text("Destination URL,Short link,Clicks\nhttps://example.com/1,old.example/a,618\n")
    arguments = "import", "csv", "--account", "alice@example.com", "--file", file
    assert "\nAliases: 0. Clicks: 0, and 618 imported as totals.\n" in waypost(*arguments, "--dry-run").stdout
    fields = ["source", "links", "aliases", "clicks", "warnings", "refused"]
    assert list(waypost.json(*arguments)) == fields
    assert "\nAliases: 0. Clicks: 0.\n" in waypost(*arguments).stdout


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--account", "nobody@example.com"], 1, "There is no account nobody@example.com"),
        (["--domain", "old.example"], 2, "--domain: old.example is not of the form FROM=TO"),
        (["--timezone", "Mars/One"], 2, "--timezone: Mars/One is not a time zone"),
        (["--token-file", "missing"], 2, "--token-file: missing cannot be read: No such file or directory."),
        (["--file", "missing"], 2, "--file: missing cannot be read: No such file or directory."),
        (["--encoding", "latin-99"], 2, "--encoding: latin-99 is not an encoding such as utf-8 or cp1252."),
        (["--encoding", "rot13"], 2, "--encoding: rot13 is not an encoding"),
    ],
)
def test_says_what_is_wrong(waypost: Waypost, file: str, options: list[str], code: int, message: str) -> None:
    arguments = ["--account", "alice@example.com", "--file", file]
    for name in options[::2]:
        if name in arguments:
            del arguments[arguments.index(name) : arguments.index(name) + 2]
    assert message in waypost("import", "csv", *arguments, *options, code=code).stderr


def test_reads_the_token_from_stdin(waypost: Waypost, file: str) -> None:
    arguments = "import", "shlink", "--account", "alice@example.com", "--token-file", "-"
    assert "--token-file: The token is empty." in waypost(*arguments, code=2).stderr
    assert "Enter its URL" in waypost(*arguments, stdin="a-token\n", code=2).stderr


def test_only_files_of_text_have_an_encoding(waypost: Waypost, file: str) -> None:
    arguments = "import", "waypost", "--account", "alice@example.com", "--file", file, "--encoding", "utf-8"
    assert "--encoding: Only a CSV file or an SQL dump has an encoding." in waypost(*arguments, code=2).stderr


def test_reads_a_file_in_the_encoding_that_is_entered(waypost: Waypost, file: str) -> None:
    Path(file).write_bytes("URL,Slug,Title\nhttps://example.com/1,a,Ünï\n".encode("cp437"))
    arguments = "import", "csv", "--account", "alice@example.com", "--file", file
    assert "it was read as" in waypost(*arguments, "--dry-run").stdout
    warnings = waypost.json(*arguments, "--encoding", "cp437")["warnings"]
    assert not [warning for warning in warnings if "read as" in warning]
