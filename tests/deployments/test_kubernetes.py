"""deploy/kubernetes: each manifest against the schemas that Kubernetes publishes, and against our own rules."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from waypost.settings import PREFIX, Settings
from waypost.worker import parent

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is missing")
yaml = pytest.importorskip("yaml")

KUBERNETES = Path(__file__).parents[2] / "deploy" / "kubernetes"
KUSTOMIZATIONS = sorted(KUBERNETES.glob("*/kustomization.yaml"))
MANIFESTS = sorted(set(KUBERNETES.glob("*/*.yaml")) - set(KUSTOMIZATIONS))
OLDEST, NEWEST = "1.30", "1.37"


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in MANIFESTS:
        for each in documents(path):
            if each["kind"] in {"StatefulSet", "Deployment", "Job"}:
                yield each["metadata"]["name"], each["spec"]["template"]["spec"]


PODS = [pytest.param(pod, id=name) for name, pod in pods()]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_manifests_match_the_published_schemas(path: Path, version: str) -> None:
    for each in documents(path):
        kubernetes_validate.validate(each, version, strict=True)


def test_every_manifest_is_part_of_a_kustomization() -> None:
    named = set()
    for path in KUSTOMIZATIONS:
        for resource in documents(path)[0]["resources"]:
            target = (path.parent / resource).resolve()
            assert target.exists(), f"{path}: {resource}"
            named.add(target)
    assert named >= set(MANIFESTS)


@pytest.mark.parametrize("path", KUSTOMIZATIONS, ids=lambda path: path.parent.name)
@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl 1.21 is missing")
def test_kustomize_builds_it(path: Path) -> None:
    done = subprocess.run(["kubectl", "kustomize", str(path.parent)], check=False, capture_output=True, text=True)
    if "must be a file" in done.stderr:  # as that of Debian 12 says of directories
        pytest.skip("kubectl 1.21 is missing")
    assert done.returncode == 0, done.stderr
    built = list(yaml.safe_load_all(done.stdout))
    [settings] = [each["metadata"]["name"] for each in built if each["kind"] == "ConfigMap"]
    for each in built:
        kubernetes_validate.validate(each, NEWEST, strict=True)
        used = re.findall(r"configMapRef:\n\s+name: (\S+)", yaml.safe_dump(each))
        assert set(used) <= {settings}  # with the hash: pods restart when a setting changes


def test_settings_exist() -> None:
    names = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for path in (*KUSTOMIZATIONS, *MANIFESTS):
        used = re.findall(r"(?:name: |- )(WAYPOST_\w+)", path.read_text())
        assert {name.removesuffix("_FILE") for name in used} <= names, path


@pytest.mark.parametrize("pod", PODS)
def test_no_variable_of_kubernetes_becomes_a_setting(pod: dict[str, Any]) -> None:
    assert pod["enableServiceLinks"] is False
    assert pod["automountServiceAccountToken"] is False


@pytest.mark.parametrize("pod", PODS)
def test_containers_have_no_privileges(pod: dict[str, Any]) -> None:
    """What the policy "restricted" of Kubernetes asks for, and a read-only root."""
    security = pod["securityContext"]
    assert (security["runAsNonRoot"], security["runAsUser"], security["fsGroup"]) == (True, 10001, 10001)
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"].keys() == {"requests", "limits"}


@pytest.mark.parametrize("pod", PODS)
def test_volumes_exist(pod: dict[str, Any]) -> None:
    for container in pod["containers"]:
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts.keys() <= {"data", *(volume["name"] for volume in pod["volumes"])}
        assert mounts["tmp"] == "/tmp"
        files = [each["value"] for each in container.get("env", []) if each["name"].endswith("_FILE")]
        assert all(name.startswith(mounts["secrets"]) for name in files)


@pytest.mark.parametrize("pod", [param for param in PODS if param.id != "waypost-migrate"])
def test_pods_end_before_they_are_killed(pod: dict[str, Any]) -> None:
    """A worker also after what it drains."""
    waits = [int(each["lifecycle"]["preStop"]["exec"]["command"][1]) for each in pod["containers"]]
    assert pod["terminationGracePeriodSeconds"] > max(waits) + 12
    if len(waits) == 2:
        assert waits[1] > waits[0] + parent.KILL_TIMEOUT - 1
