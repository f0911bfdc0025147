"""The workflows that test and release: sound, as zizmor judges them, and in step with what they build."""

import re
import subprocess
import sys
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
    given = re.findall(r"^ +([A-Z_]+)=", workflow.partition("build-args: |\n")[2].partition("tags:")[0], re.MULTILINE)
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
