"""docs/guides/domains.md: every text for domain owners is in it, and its recipe for local testing works."""

import asyncio
import re
import subprocess
import sys

from architecture.code import ROOT
from journeys.service import free_port

from waypost.outbound import DnsRecords, acme_problems
from waypost.resources.domains.checks import messages
from waypost.resources.domains.checks.verification import ExpectedRecords, verify

PAGE = (ROOT / "docs" / "guides" / "domains.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (?=.*\S)", PAGE, re.MULTILINE)
TEXTS = {name: text for name, text in vars(messages).items() if name.isupper() and not name.startswith("_")}


def test_every_error_is_explained() -> None:
    assert {"NOT_VERIFIED", "SET_EITHER", "CRASHED"} <= set(TEXTS)
    mails = {"MAIL", "MAIL_EITHER", "MAIL_TXT"}
    in_prose = {"MAIL_SUBJECT"}
    assert [name for name, text in TEXTS.items() if name not in mails | in_prose and text not in ROWS] == []
    assert messages.MAIL_SUBJECT in PAGE
    assert [text for text in acme_problems._REASONS.values() if text not in ROWS] == []


async def test_the_local_testing_recipe_works() -> None:
    code = re.search(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    port = free_port()
    server = subprocess.Popen([sys.executable, "-c", code[1], str(port), "waypost-token"])
    expected = ExpectedRecords("go.brand.test", "waypost-token", "go.example.com")
    try:
        records = DnsRecords([f"127.0.0.1:{port}"])
        while (await verify(records, expected)).outcome == "unclear":  # until the name server listens
            assert server.poll() is None
            await asyncio.sleep(0.05)
        assert (await verify(records, expected)).outcome == "verified"
        other = await verify(records, ExpectedRecords("go.brand.test", "another", "go.example.com"))
        assert other.outcome == "unverified"
        assert messages.CHANGE_TXT.format(token="another") in other.error
    finally:
        server.kill()
        server.wait()
