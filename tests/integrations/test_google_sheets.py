"""The script for Google Sheets against the service, in a scripted Apps Script."""

import json
from pathlib import Path
from typing import Any

import pytest
from journeys.service import Service, Website
from python_client.fault_proxy import FaultProxy

from integrations.programs import INTEGRATIONS, run_node

HERE = Path(__file__).parent
BASE_URL = "https://sheets.test"
"""Leads to the service."""


class Sheet:
    """URLs in column 2, and what the script writes beside them in column 3."""

    def __init__(self, service: Service, urls: list[str]) -> None:
        self.base_url = service.base_url
        self.rows = len(urls)
        self.cells = {f"{row},2": url for row, url in enumerate(urls, 1)}
        self.notes: dict[str, str] = {}
        self.properties = {"BASE_URL": BASE_URL, "API_KEY": service.new_key()}

    def call(self, name: str, *, columns: int = 1, answers: list[str | None] | None = None) -> dict[str, Any]:
        given = {
            "code": (INTEGRATIONS / "google-sheets" / "waypost.gs").read_text(),
            "call": name,
            "selection": [1, 2, self.rows, columns],
            "base_url": self.base_url,
            "cells": self.cells,
            "notes": self.notes,
            "properties": self.properties,
            "answers": answers or [],
        }
        done = run_node(HERE / "apps_script.cjs", stdin=json.dumps(given))
        assert done.returncode == 0, done.stderr
        left = json.loads(done.stdout)
        self.cells, self.notes, self.properties = left["cells"], left["notes"], left["properties"]
        return left

    def results(self) -> list[str]:
        return [self.cells.get(f"{row},3", "") for row in range(1, self.rows + 1)]


def test_shortens_the_selected_column_in_requests_of_100(service: Service, website: Website) -> None:
    sheet = Sheet(service, [f"{website.url}/sheet/{n}" for n in range(101)])
    left = sheet.call("shortenSelection")
    assert (left["alerts"], left["requests"]) == (["Created 101 of 101 short URLs."], 2)
    links = service.client.get("/api/v1/links", params={"search": "/sheet/", "per_page": 100}).json()["data"]
    by_url = {link["destination_url"]: f"https://{link['short_url']}" for link in links}
    assert len(by_url) == 100  # a page of them
    results = dict(zip([sheet.cells[f"{n},2"] for n in range(1, 102)], sheet.results(), strict=True))
    assert by_url.items() <= results.items()
    assert sheet.call("shortenSelection")["requests"] == 0  # again


def test_says_beside_a_cell_why_it_was_refused(service: Service, website: Website) -> None:
    sheet = Sheet(service, [f"{website.url}/a", "", "nonsense", "=1+1", "  ", f"{website.url}/b"])
    sheet.cells["6,3"] = "kept"
    left = sheet.call("shortenSelection")
    counted = "Created 1 of 3 short URLs. 2 were refused: the notes of their cells say why."
    assert left["alerts"] == [counted]
    results = sheet.results()
    assert (results[0].startswith("https://"), results[1:]) == (True, ["", "", "", "", "kept"])
    assert (sheet.notes["1,3"], "URL" in sheet.notes["3,3"]) == ("", True)
    sheet.cells["3,2"] = f"{website.url}/c"
    assert "Created 1 of 2" in sheet.call("shortenSelection")["alerts"][0]
    assert sheet.notes["3,3"] == ""


def test_waits_when_there_are_too_many_requests(service: Service, website: Website, proxy: FaultProxy) -> None:
    sheet = Sheet(service, [f"{website.url}/a"])
    sheet.base_url = proxy.url
    proxy.faults.extend(["429", "502"])
    left = sheet.call("shortenSelection")
    assert (left["alerts"], left["slept"]) == (["Created 1 of 1 short URLs."], [7_000, 4_000])
    assert len({each.headers["idempotency-key"] for each in proxy.seen}) == 1


@pytest.mark.parametrize(
    ("properties", "columns", "message"),
    [
        ({"API_KEY": ""}, 1, "Enter the address and the API key"),
        ({"BASE_URL": "http://go.example.com"}, 1, "The address must look like"),
        ({"API_KEY": "wp_live_wrong"}, 1, "Waypost refused the request: "),
        ({}, 2, "Select the cells with URLs, in one column."),
    ],
)
def test_explains_what_is_wrong(
    service: Service, website: Website, properties: dict[str, str], columns: int, message: str
) -> None:
    sheet = Sheet(service, [f"{website.url}/a"])
    sheet.properties |= properties
    [alert] = sheet.call("shortenSelection", columns=columns)["alerts"]
    assert message in alert
    assert "wp_live_" not in alert
    assert sheet.results() == [""]


def test_recognizes_what_is_not_waypost(service: Service, website: Website, proxy: FaultProxy) -> None:
    sheet = Sheet(service, [f"{website.url}/a"])
    sheet.base_url = proxy.url
    for fault, message in (("page", "(status 200)"), ("redirect", "(status 301)")):
        proxy.faults.append(fault)
        assert message in sheet.call("shortenSelection")["alerts"][0]


def test_has_a_menu_and_asks_for_settings(service: Service) -> None:
    sheet = Sheet(service, [])
    menu = [["Shorten selected URLs", "shortenSelection"], ["Settings", "askForSettings"]]
    assert sheet.call("onOpen")["menu"] == ["Waypost", *menu]
    sheet.call("askForSettings", answers=[" https://go.example.com/ ", "key"])
    assert sheet.properties == {"BASE_URL": "https://go.example.com", "API_KEY": "key"}
    sheet.call("askForSettings", answers=[None])
    assert sheet.properties == {"BASE_URL": "https://go.example.com", "API_KEY": "key"}
