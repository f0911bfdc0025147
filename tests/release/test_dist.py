"""Wheel, source distribution and bill of materials, as `make dist` builds them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZipFile

import pytest
from architecture.code import ROOT
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from journeys.service import Service, Website, eventually
from python_client.test_recipes import recipes

from waypost.version import VERSION
from waypost.web.dashboard import documentation

pytestmark = pytest.mark.timeout(300)  # each build installs its tools

COMMIT = "0123456789ab+dirty"
BIN = Path(sys.executable).parent
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "VIRTUAL_ENV", "PYTHON"))},
    "PATH": f"{BIN}:{os.environ['PATH']}",
    "SOURCE_COMMIT": "0123456789abcdef0123456789abcdef01234567+dirty",
    "SOURCE_DATE_EPOCH": "1767225600",
    "UV_PYTHON_DOWNLOADS": "never",
}
WHEEL = f"waypost-{VERSION}-py3-none-any.whl"
SDIST = f"waypost-{VERSION}.tar.gz"
NPM_PACKAGE = f"waypost-client-{VERSION}.tgz"
CLIENT = f"waypost_client-{VERSION}-py3-none-any.whl"
SBOM = f"waypost-{VERSION}.cdx.json"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


def tracked(directory: str = ".") -> set[str]:
    """Files of the checkout, without what git ignores; new ones need not be committed yet."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", directory]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name for name in names if name and (ROOT / name).exists()}


def copy_of_sources(to: Path, *, umask: int, time: int) -> Path:
    for name in tracked():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to / name)
        (to / name).chmod((0o777 if os.access(ROOT / name, os.X_OK) else 0o666) & ~umask)
        os.utime(to / name, (time, time))
    return to


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = copy_of_sources(tmp_path_factory.mktemp("sources"), umask=0o022, time=1_500_000_000)
    for litter in ("waypost.toml", "data/waypost.db", "src/waypost/__pycache__/cli.cpython-311.pyc"):
        (sources / litter).parent.mkdir(exist_ok=True)
        (sources / litter).write_text("must not be distributed")
    return sources


@pytest.fixture(scope="module")
def dist(sources: Path) -> Path:
    return build(sources, umask=0o022)


def build(sources: Path, *, umask: int, **environment: str) -> Path:
    command = [sources / "scripts" / "build-dist", "dist"]
    subprocess.run(command, cwd=sources, env=ENVIRONMENT | environment, check=True, umask=umask)
    return sources / "dist"


def test_builds_in_other_directories_are_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    other = copy_of_sources(tmp_path / "some other" / "directory", umask=0o077, time=1_700_000_000)
    again = build(other, umask=0o077, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="7")
    assert hashes(again) == hashes(dist)
    assert NPM_PACKAGE in hashes(dist)
    sums = (dist / "SHA256SUMS").read_text().split()
    assert dict(zip(sums[1::2], sums[::2], strict=True)) == {
        name: value for name, value in hashes(dist).items() if name != "SHA256SUMS"
    }


def test_the_source_distribution_builds_the_same_wheel(dist: Path, sources: Path, tmp_path: Path) -> None:
    """`make dist` builds the wheel from the source distribution; this one is from the checkout."""
    command = ["uv", "build", "--quiet", "--wheel", "--python", sys.executable, "--out-dir", tmp_path]
    subprocess.run(command, cwd=sources, env=ENVIRONMENT, check=True)
    assert hashes(tmp_path)[WHEEL] == hashes(dist)[WHEEL]


def hashes(directory: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in directory.iterdir() if path.name[0] != "."}


def test_the_distributions_contain_the_package_and_nothing_else(dist: Path) -> None:
    package = tracked("src/waypost")
    with ZipFile(dist / WHEEL) as wheel, tarfile.open(dist / SDIST) as sdist:
        in_wheel = {name for name in wheel.namelist() if not name.startswith(f"waypost-{VERSION}.dist-info/")}
        in_sdist = {name.partition("/")[2] for name in sdist.getnames()}
    docs = tracked("docs")
    assert in_wheel == {f"waypost/{name}" for name in docs} | {name.removeprefix("src/") for name in package} | {
        "waypost/commit.txt"
    }
    described = {
        "commit.txt",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "pyproject.toml",
        "compile_redirects.py",
        "hatch_build.py",
        ".gitignore",
    }
    assert in_sdist == package | docs | described


def test_the_metadata_are_complete(dist: Path) -> None:
    about = metadata(dist)
    assert (about["Name"], about["Version"], about["License-Expression"]) == ("waypost", VERSION, "Apache-2.0")
    links = dict(each.split(", ") for each in about.get_all("Project-URL", []))
    assert set(links) == {"Homepage", "Documentation", "Source", "Changelog", "Issues"}
    notices = {path for path in tracked("src") if Path(path).name.startswith(("NOTICE", "COPYING"))}
    assert set(about.get_all("License-File", [])) == {"LICENSE", *notices}
    assert about.get_all("Provides-Extra") == ["clickhouse", "mcp", "remote"]


def test_the_client_is_a_distribution_of_its_own(dist: Path) -> None:
    package = {name.removeprefix("clients/python/src/") for name in tracked("clients/python/src")}
    about = f"waypost_client-{VERSION}.dist-info"
    with ZipFile(dist / CLIENT) as wheel:
        assert {name for name in wheel.namelist() if not name.startswith(about)} == package
        stated = Parser().parsestr(wheel.read(f"{about}/METADATA").decode())
    assert (stated["Name"], stated["Version"], stated["Requires-Python"]) == ("waypost-client", VERSION, ">=3.10")
    assert stated.get_all("Requires-Dist") == ["httpx<1,>=0.27"]
    assert (ROOT / "clients/python/LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_page_in_the_package_index_links_to_this_version(dist: Path) -> None:
    page = str(metadata(dist).get_payload())
    targets = re.findall(r"\]\(([^)\s]+)|(?:src|srcset|href)=\"([^\"]+)", page)
    links = [link or attribute for link, attribute in targets]
    own = re.compile(r"https://(?:github\.com|raw\.githubusercontent\.com)/waypost/waypost/(?:blob/)?v([^/]+)/([^#]+)")
    found = [own.match(link) for link in links]
    assert [link for link in links if not link.startswith(("https://", "http://", "#"))] == []
    files = {(match[1], (ROOT / unquote(match[2])).exists()) for match in found if match}
    assert files == {(VERSION, True)}


def metadata(dist: Path) -> Message:
    with ZipFile(dist / WHEEL) as wheel:
        return Parser().parsestr(wheel.read(f"waypost-{VERSION}.dist-info/METADATA").decode())


def test_the_bill_of_materials_names_what_may_be_installed(dist: Path) -> None:
    text = (dist / SBOM).read_text()
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(text) is None
    document = json.loads(text)
    components = {each["name"]: each for each in document["components"]}
    assert {"starlette", "clickhouse-connect", "waypost-client", "htmx.org", "@scalar/api-reference"} <= set(components)
    assert {"pytest", "ruff", "waypost"} & set(components) == set()
    assert components["starlette"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    table = (ROOT / "src/waypost/visitors/models/models.txt").read_text()
    models = components["device-detector"]
    assert table.startswith(f"# device-detector {models['version']}, ")
    assert models["licenses"] == [{"license": {"id": "LGPL-3.0-or-later"}}]
    assert {each for each, found in components.items() if found["type"] == "data"} == {
        *("device-detector", "crawlerdetect", "django-bots", "ipfire-location")
    }
    for each in document["components"]:
        files = each.get("externalReferences", [each])
        assert all(hash_["alg"] == "SHA-256" for file in files for hash_ in file["hashes"]), each["name"]
    listed = {each["ref"] for each in document["dependencies"]} | {
        ref for each in document["dependencies"] for ref in each.get("dependsOn", ())
    }
    own = document["metadata"]["component"]
    assert own["version"] == VERSION
    assert {each["bom-ref"] for each in document["components"]} | {own["bom-ref"]} == listed


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of an environment that has only the wheel, with dependencies of the locked versions."""
    directory = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--frozen", "--no-dev", "--no-emit-project", "--no-hashes"]
    versions = subprocess.run(["uv", "export", *options], cwd=ROOT, env=ENVIRONMENT, check=True, capture_output=True)
    (directory / "versions.txt").write_bytes(versions.stdout)
    return install(directory, "--constraints", "versions.txt", dist / WHEEL) / "waypost"


def install(directory: Path, *what: str | Path) -> Path:
    """Install in an empty environment, and return the directory of its programs."""
    install = ["uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", "venv", *what]
    for command in (["uv", "venv", "--quiet", "--python", sys.executable, "venv"], install):
        subprocess.run(command, cwd=directory, env=ENVIRONMENT, check=True)
    return directory / "venv" / "bin"


@pytest.fixture
def service(installed: Path, tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    service.serving[0] = str(installed)
    service.environment = {name: value for name, value in service.environment.items() if name[:6] != "PYTHON"}
    yield service
    service.client.close()


def test_the_wheel_counts_its_first_click_in_an_empty_directory(installed: Path, service: Service) -> None:
    shown = subprocess.run([installed, "--version"], cwd=service.directory, check=True, capture_output=True, text=True)
    assert shown.stdout == f"waypost {VERSION} ({COMMIT})\n"
    for extra, arguments in {"remote": ["--remote", service.base_url, "link", "list"], "mcp": ["mcp"]}.items():
        command = [installed, *arguments]
        done = subprocess.run(command, cwd=service.directory, check=False, capture_output=True, text=True)
        assert (done.returncode, f"pip install 'waypost[{extra}]'" in done.stderr) == (1, True)
    with Website() as site:
        service.start()
        service.log.wait_for("first-start.txt")
        welcome = (service.directory / "data" / "first-start.txt").read_text()
        [key] = set(re.findall(r"wp_live_[\w-]+", welcome))
        service.client.headers["Authorization"] = f"Bearer {key}"
        link = service.client.post("/api/v1/links", json={"destination_url": site.url}).raise_for_status().json()
        visit = service.client.get(f"/{link['data']['slug']}", headers={"User-Agent": BROWSER})
        assert visit.headers["location"] == site.url
        path = f"/api/v1/links/{link['data']['id']}"
        eventually(lambda: service.client.get(path).json()["data"]["clicks"] == 1, every=0.2)
        mcp = service.client.post("/mcp", json={})
        assert (mcp.status_code, "pip install 'waypost[mcp]'" in mcp.text) == (501, True)
        assert "<h1" in service.client.get("/setup").raise_for_status().text
        for _, page in documentation.PAGES:
            assert "<h1" in service.client.get(f"/help/{page}").raise_for_status().text
        labels = f'commit="{COMMIT}",redirects="python",version="{VERSION}"'
        assert f"waypost_build_info{{{labels}}} 1.0" in service.client.get("/metrics").text
    assert service.stop() == 0
    assert f"version={VERSION} commit={COMMIT}" in service.log.wait_for('event="worker started"')
    assert [path.name for path in service.directory.iterdir()] == ["data"]


def test_the_client_runs_its_recipes_in_an_empty_environment(dist: Path, service: Service, tmp_path: Path) -> None:
    (tmp_path / "client").mkdir()
    programs = install(tmp_path / "client", dist / CLIENT)
    with Website() as site:
        service.start()
        service.log.wait_for("first-start.txt")
        [key] = set(re.findall(r"wp_live_[\w-]+", (service.directory / "data" / "first-start.txt").read_text()))
        (tmp_path / "client" / "recipes.py").write_text(recipes(service.base_url, site.url))
        environment = {**ENVIRONMENT, "WAYPOST_API_KEY": key}
        run = [programs / "python", "-I", "recipes.py"]
        done = subprocess.run(run, cwd=tmp_path / "client", env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == f"{service.base_url.removeprefix('http://')}/spring-sale 0"
    assert service.stop() == 0
