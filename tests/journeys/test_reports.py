"""A report of abuse on the running service: from the page about a link to the email of an operator."""

import re
from pathlib import Path

import httpx
from journeys.service import OWNER, Service, Website, eventually

REPORT = {
    "reason": "phishing",
    "text": "<b>It</b> looks like my bank\r\nBcc: all@example.com",
    "email": "eve@example.com",
}


def test_a_report_reaches_operators_and_the_link_is_disabled(tmp_path: Path) -> None:
    with Website() as page, Service(tmp_path, WAYPOST_CONTACT_EMAIL="abuse@example.com") as service:
        link = service.client.post("/api/v1/links", json={"slug": "sale", "destination_url": page.url}).json()["data"]
        service.command("operator", "add", OWNER)
        origin = {"Origin": service.base_url}
        with httpx.Client(base_url=service.base_url, trust_env=False, timeout=60) as visitor:
            assert "Report this link" in visitor.get("/sale+").text
            answers = {visitor.post("/sale+", data=REPORT, headers=origin).text for _ in range(5)}
            assert len(answers) == 1, "the same, also for those that were dropped"
            assert "Thank you" in answers.pop()
            assert visitor.post("/sale+", data=REPORT, headers={"Origin": "http://evil.example"}).status_code == 403
            assert visitor.post("/other+", data=REPORT, headers=origin).status_code == 405

        service.stop()  # the worker looks for reports when it starts, then every five minutes
        service.start()
        mails = tmp_path / "data" / "mail"
        eventually(lambda: len([*mails.glob("*.txt")]) == 2)
        texts = [mail.read_text() for mail in mails.glob("*.txt")]
        assert {re.findall(r"^To: (.+)$", text, re.MULTILINE)[0] for text in texts} == {OWNER, "abuse@example.com"}
        for text in texts:
            head, _, body = text.partition("\n\n")
            assert head.splitlines()[1:] == ["Subject: A reported link"]
            assert "3 new reports" in body
            assert "bank" not in body
            assert "eve@" not in body
            assert re.findall(r"https?://\S+", body) == [f"{service.base_url}/operator/reports"]

        with httpx.Client(
            base_url=service.base_url, trust_env=False, headers={"Sec-Fetch-Site": "same-origin"}
        ) as root:
            root.post(service.json("account", "sign-in-link", OWNER)["url"], data={"timezone": "UTC"})
            reports = root.get("/operator/reports").text
            assert 'class="number">3</td>' in reports
            shown = root.get(f"/operator/links/{link['id']}").text
            assert "&lt;b&gt;It&lt;/b&gt; looks like my bank\nBcc: all@example.com" in shown
            done = root.post(f"/operator/links/{link['id']}/disable", data={"reason": "Phishing"})
            assert done.headers["location"].endswith("done=disabled")
            assert "No open reports" in root.get("/operator/reports").text
        assert service.client.get("/sale").status_code == 404
        refused = service.client.patch(f"/api/v1/links/{link['id']}", json={"status": "active"})
        assert refused.json()["error"]["errors"] == {"status": ["Disabled by the operator: Phishing"]}
