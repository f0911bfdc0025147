"""Helm's own library, in a process of its own: it is written in Go, whose threads a process that forks should not have.

`render` gives the objects of a chart, or the error that a user sees. `python -m deployments.helm` is that process.
"""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from architecture.code import ROOT

CHART = ROOT / "deploy" / "helm" / "waypost"
Values = dict[str, Any]


@dataclass
class Rendering:
    objects: list[dict[str, Any]] = field(default_factory=list)
    notes: str = ""
    error: str = ""

    def of_kind(self, *kinds: str) -> list[dict[str, Any]]:
        return [each for each in self.objects if each["kind"] in kinds]

    def by_name(self) -> dict[str, dict[str, Any]]:
        return {f"{each['kind']}/{each['metadata']['name']}": each for each in self.objects}


def render(*values: Values, chart: Path = CHART) -> list[Rendering]:
    """What `helm install links CHART --values …` sends to a cluster, for each of the values."""
    renderings = []
    for templates in _ask("render", chart, list(values)):
        error = templates.pop("error", "")
        notes = templates.pop("waypost/templates/NOTES.txt", "")
        objects = [each for text in templates.values() for each in yaml.safe_load_all(text) if each]
        renderings.append(Rendering(objects, notes, error))
    return renderings


def lint(*values: Values) -> list[dict[str, Any]]:
    return _ask("lint", CHART, list(values))


def package(destination: Path, version: str) -> Path:
    [path] = _ask("package", CHART, [{"destination": str(destination), "version": version}])
    return Path(path["path"])


def _ask(verb: str, chart: Path, requests: list[Values]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, __file__, verb, str(chart)],
        check=False,
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "tests")},
    )
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def _answer(verb: str, chart: str, request: Values) -> dict[str, Any]:
    import helm_python

    if verb == "lint":
        return helm_python.lint(chart, request, strict=True)
    if verb == "package":
        version = request["version"]
        path = helm_python.package(chart, destination=request["destination"], version=version, app_version=version)
        return {"path": path}
    try:
        with helm_python.Chart.load(chart) as loaded:
            return dict(loaded.render(request, name="links", namespace="apps"))
    except helm_python.HelmError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    print(json.dumps([_answer(*sys.argv[1:3], each) for each in json.load(sys.stdin)]))
