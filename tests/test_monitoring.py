"""The metrics of a running service, and the documentation, alerts and dashboard that name them."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from journeys.service import Service, eventually
from measured import counted, read

from waypost.resources.clicks.backends.clickhouse import drain as _  # noqa: F401  # its metrics exist only with ClickHouse

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "operate" / "metrics.md"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "waypost.json"
CLICKHOUSE = {"waypost_batches_repeated_total"}
METRIC = re.compile(r"\bwaypost_\w+")


@pytest.fixture(scope="module")
def exposition(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a service with all roles shows."""
    with Service(tmp_path_factory.mktemp("service")) as service:

        def scrape() -> str:
            return service.client.get("/metrics").raise_for_status().text

        eventually(lambda: "waypost_queue_oldest_due_seconds{" in scrape() and "waypost_change_feed_lag" in scrape())
        return scrape()


@pytest.fixture(scope="module")
def samples(exposition: str) -> set[str]:
    """Names as queries use them: a histogram has three."""
    return {name.partition(" ")[0] for name in read(exposition)} | CLICKHOUSE


def families(exposition: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\w+)", exposition, re.MULTILINE)) | CLICKHOUSE


def expressions() -> list[str]:
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def promtool(*arguments: str, text: str | None = None) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is missing: it is part of Debian's package prometheus")
    done = subprocess.run([program, *arguments], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_metrics_of_clickhouse_exist() -> None:
    assert set(counted()) >= CLICKHOUSE


def test_every_metric_is_documented(exposition: str) -> None:
    assert set(METRIC.findall(PAGE.read_text())) == families(exposition)


@pytest.mark.parametrize("path", [ALERTS, DASHBOARD], ids=lambda path: path.name)
def test_alerts_and_dashboard_use_existing_metrics(path: Path, samples: set[str]) -> None:
    used = set(METRIC.findall(path.read_text()))
    assert used
    assert used - samples == set()


def test_alerts_and_documentation_name_the_same_limits() -> None:
    alerts = set(re.findall(r"alert: (\w+)", ALERTS.read_text()))
    assert set(re.findall(r"\bWaypost[A-Z]\w+", PAGE.read_text())) <= alerts


def test_prometheus_accepts_the_metrics(exposition: str) -> None:
    promtool("check", "metrics", text=exposition)


def test_prometheus_accepts_the_alerts() -> None:
    promtool("check", "rules", str(ALERTS))


def test_prometheus_accepts_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": "any", "expr": expression.replace("$__rate_interval", "5m"), "labels": {"number": str(number)}}
        for number, expression in enumerate(expressions())
    ]
    path = tmp_path / "rules.yaml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))  # JSON is YAML
    promtool("check", "rules", str(path))


def test_every_graph_selects_nodes_and_has_its_own_place() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    assert {variable["name"] for variable in dashboard["templating"]["list"]} == {"source", "node"}
    for expression in expressions():
        assert expression.count("{") == expression.count('instance=~"$node"') == expression.count("}")
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [place for panel in panels for place in _places(panel["gridPos"])]
    assert len(set(places)) == len(places)


def _places(position: dict[str, int]) -> Iterator[tuple[int, int]]:
    for x in range(position["x"], position["x"] + position["w"]):
        for y in range(position["y"], position["y"] + position["h"]):
            yield x, y
