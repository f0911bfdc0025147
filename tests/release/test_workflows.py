"""The workflows that test and release: sound, as zizmor judges them, and in step with what they build."""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import yaml
from architecture.code import ROOT


def test_actions_are_pinned_and_permissions_are_least() -> None:
    command = [Path(sys.executable).parent / "zizmor", "--offline", "--no-progress", ROOT / ".github"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_of_a_release_gets_the_arguments_of_its_containerfile() -> None:
    """A misspelled one would be ignored, with a warning that nobody reads."""
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    given = re.findall(
        r"^ +([A-Z_]+)=", workflow.partition("build-args: |\n")[2].partition("outputs:")[0], re.MULTILINE
    )
    taken = re.findall(r"^ARG (\w+)=$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert set(given) == set(taken)


def test_a_release_has_checksums_of_all_packages(tmp_path: Path) -> None:
    """Those that PyPI gets, too: the attestation is of the files with checksums."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    downloads = {
        name: [step["with"] for step in jobs[name]["steps"] if "download-artifact" in step.get("uses", "")]
        for name in ("pypi", "release")
    }
    assert downloads["release"][:2] == downloads["pypi"]
    built = ("wheels/waypost-1-cp311.whl", "wheels/waypost-1-cp312.whl", "debs/waypost_1-1_amd64.deb")
    for name in ("dist/waypost-1.tar.gz", *built):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    subprocess.run("sha256sum waypost-* >SHA256SUMS", shell=True, cwd=tmp_path / "dist", check=True)
    [adding] = [step["run"] for step in jobs["release"]["steps"] if "wheels" in step.get("run", "")]
    subprocess.run(adding, shell=True, cwd=tmp_path, check=True)
    listed = (tmp_path / "dist" / "SHA256SUMS").read_text().split()[1::2]
    assert sorted([*listed, "SHA256SUMS"]) == sorted(path.name for path in (tmp_path / "dist").iterdir())
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path / "dist", check=True)


def test_npm_gets_the_packages_that_it_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    for name in ("waypost-client", "n8n-nodes-waypost"):
        package = json.dumps({"name": f"@waypost/{name}", "version": "1.0.0"}).encode()
        with tarfile.open(tmp_path / "dist" / f"{name}-1.0.0.tgz", "w:gz") as archive:
            member = tarfile.TarInfo("package/package.json")
            member.size = len(package)
            archive.addfile(member, io.BytesIO(package))
    for name, text in (
        ("npm", '[ "$*" = "view @waypost/waypost-client@1.0.0 version" ]'),
        ("npx", 'echo "$*" >>given'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    [publishing] = [step["run"] for step in jobs["npm"]["steps"] if "run" in step]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CHANNEL": "latest"}
    subprocess.run(["bash", "-e", "-c", publishing], cwd=tmp_path, env=environment, check=True)
    [given] = (tmp_path / "given").read_text().splitlines()
    assert " publish ./dist/n8n-nodes-waypost-1.0.0.tgz " in given
