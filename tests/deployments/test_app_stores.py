"""deploy/stores: files for app stores, each against the rules that its store publishes."""

import datetime as dt
import json
import re
import runpy
import shutil
import stat
import subprocess
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jinja2
import jsonschema
import pytest
from architecture.code import ROOT

yaml = pytest.importorskip("yaml", reason="yaml is missing: make test installs it")

SCRIPT = ROOT / "scripts" / "make-stores"
STORES = ROOT / "deploy" / "stores"
DIGEST = "sha256:" + "0123456789abcdef" * 4
FIELDS = ["WAYPOST_BASE_URL", "WAYPOST_OWNER_EMAIL", "WAYPOST_OWNER_PASSWORD"]
SCRIPTS = [
    *(f"yunohost/scripts/{name}" for name in ("install", "upgrade", "remove", "backup", "restore", "change_url")),
    "yunohost/scripts/_common.sh",
    "proxmox/ct/waypost.sh",
    "proxmox/install/waypost-install.sh",
]


@pytest.fixture(scope="module")
def make() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def app() -> dict[str, Any]:
    return tomllib.loads((STORES / "app.toml").read_text())


@pytest.fixture(scope="module")
def submitted(tmp_path_factory: pytest.TempPathFactory, make: dict[str, Any]) -> Path:
    """The files as they are submitted, with pictures and the digest of the image."""
    directory: Path = tmp_path_factory.mktemp("stores")
    make["write"](directory, DIGEST)
    make["write_pictures"](directory)
    return directory


@pytest.fixture(scope="module")
def image(make: dict[str, Any], app: dict[str, Any]) -> str:
    return f"{app['image']}:{make['version']()}"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_files_are_current(make: dict[str, Any]) -> None:
    """`make stores` writes them again."""
    files: dict[str, str] = make["files"]()
    present = {path.relative_to(STORES).as_posix() for path in STORES.rglob("*") if path.is_file()}
    assert {name for name in present if not name.startswith("templates/")} == {"app.toml", *files}
    for name, text in files.items():
        assert (STORES / name).read_text() == text, name
        assert bool((STORES / name).stat().st_mode & stat.S_IXUSR) == text.startswith("#!"), name
        assert "@{" not in text
        assert "@%" not in text


def test_what_the_description_says_is_so(app: dict[str, Any]) -> None:
    container = (ROOT / "Containerfile").read_text()
    assert f"USER {app['uid']}:{app['uid']}" in container
    assert f"VOLUME {app['data']}" in container
    assert f"EXPOSE {app['port']}" in container
    health = re.search(r"^HEALTHCHECK .*CMD (\[.*\])", container, re.MULTILINE)
    assert health
    assert json.loads(health[1]) == app["healthcheck"]
    assert [field["name"] for field in app["fields"]] == FIELDS
    assert len(app["tagline"]) <= 50  # Umbrel's limit


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_correct(name: str) -> None:
    path = STORES / name
    assert path.read_text().startswith(("#!/bin/bash\n", "#!/usr/bin/env bash\n"))
    subprocess.run(["bash", "-n", path], check=True)
    if shutil.which("shellcheck"):
        # What the stores define and call: files to source, and variables.
        subprocess.run(["shellcheck", "--exclude=SC1090,SC1091,SC2034,SC2154", path], check=True)


def test_casaos(submitted: Path, image: str) -> None:
    """Its docs/specs/compose-and-x-casaos.md, CONTRIBUTING.md and validate_compose.py."""
    compose = read(submitted / "casaos/docker-compose.yml")
    assert re.fullmatch(r"[a-z0-9_-]+", compose["name"])
    store = compose["x-casaos"]
    assert re.fullmatch(r"[a-z0-9]+([._-][a-z0-9]+)*(\.[a-z0-9]+([._-][a-z0-9]+)*)+", store["id"])
    access, display = ["id", "main", "index", "port_map", "scheme"], ["title", "icon", "screenshot_link", "tagline"]
    metadata, version = ["author", "developer", "category", "architectures"], ["version", "update_at"]
    links = ["website", "repo", "support", "docs"]
    assert list(store) == [*access, *display, "description", "tips", *metadata, *version, *links]
    service = compose["services"][store["main"]]
    assert service["image"] == f"{image}@{DIGEST}"
    assert service["container_name"] == store["main"]
    assert isinstance(store["port_map"], str)
    [port] = service["ports"]
    assert (port["published"], port["target"]) == (store["port_map"], 8000)
    assert store["category"] in {
        *("Media", "Productivity", "Home", "Networking", "AI", "Finance", "Social", "Developer", "Others")
    }
    assert store["index"] == "/"
    assert store["scheme"] == "http"
    assert dt.date.fromisoformat(store["update_at"])
    for name in ("title", "tagline", "description"):
        assert list(store[name]) == ["en_US"]
    assert "/setup?code=" in store["tips"]["before_install"]["en_US"]
    assert (submitted / "casaos" / store["icon"]).exists()
    assert all((submitted / "casaos" / each).exists() for each in store["screenshot_link"])
    [volume] = service["volumes"]
    assert volume["source"].startswith("/DATA/AppData/$AppID/")
    assert list(service["environment"]) == [*FIELDS, "WAYPOST_SIGNUP"]


def test_umbrel(submitted: Path, image: str) -> None:
    """Its guide for packages: order and values of fields, proxy, user, mounts, pinned images."""
    manifest = read(submitted / "umbrel/umbrel-app.yml")
    first = [
        "manifestVersion",
        "id",
        "storage",
        "category",
        "name",
        "version",
        "tagline",
        "description",
        "releaseNotes",
    ]
    about = ["developer", "website", "dependencies", "repo", "support", "port", "gallery", "path"]
    sign_in = ["defaultUsername", "defaultPassword", "deterministicPassword", "submitter", "submission"]
    assert list(manifest) == [*first, *about, *sign_in]
    assert manifest["manifestVersion"] == 1
    assert manifest["storage"] == {"dataRoot": "data"}
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", manifest["id"])
    assert (manifest["gallery"], manifest["path"], manifest["releaseNotes"]) == ([], "", "")
    assert isinstance(manifest["version"], str)
    assert manifest["category"] in {
        *("files", "bitcoin", "media", "networking", "social", "automation", "finance", "ai", "developer", "crypto")
    }
    assert manifest["port"] not in {80, 443, 2000}
    assert not 40_000 <= manifest["port"] < 50_000
    assert "\n\n" in manifest["description"]
    services = read(submitted / "umbrel/docker-compose.yml")["services"]
    assert services["app_proxy"]["environment"] == {
        "APP_HOST": f"{manifest['id']}_web_1",
        "APP_PORT": 8000,
        "PROXY_AUTH_ADD": "false",
    }
    web = services["web"]
    assert web["image"] == f"{image}@{DIGEST}"
    assert (web["user"], web["restart"]) == ("1000:1000", "on-failure")
    assert not {"ports", "container_name", "build", "privileged", "network_mode"} & web.keys()
    assert web["volumes"] == ["${APP_DATA_DIR}/data:/data"]
    assert (submitted / "umbrel/data/.gitkeep").exists()
    assert web["environment"]["WAYPOST_OWNER_EMAIL"] == manifest["defaultUsername"]
    assert web["environment"]["WAYPOST_OWNER_PASSWORD"] == "${APP_PASSWORD}"
    assert manifest["deterministicPassword"] is True
    assert len(list((submitted / "umbrel/gallery").iterdir())) >= 3


RUNTIPI_FIELD = {
    "type": "object",
    "required": ["type", "label", "env_variable"],
    "additionalProperties": False,
    "properties": {
        "type": {
            "enum": [*("text", "password", "email", "number", "fqdn", "ip", "fqdnip", "url", "random", "boolean")]
        },
        **{key: {"type": "string"} for key in ("label", "hint", "env_variable")},
        "min": {"type": "number"},
        "required": {"type": "boolean"},
    },
}
RUNTIPI_CATEGORIES = {
    *("network", "media", "development", "automation", "social", "utilities", "photography", "security"),
    *("featured", "books", "data", "music", "finance", "gaming", "ai"),
}


def test_runtipi(submitted: Path, image: str) -> None:
    """Its app-info-schema.json, the tests of its store, and the reference of `x-runtipi`."""
    config = json.loads((submitted / "runtipi/config.json").read_text())
    required = {*("id", "available", "name", "tipi_version", "short_desc", "author", "source", "port", "version")}
    assert config.keys() == required | {
        *("$schema", "exposable", "dynamic_config", "min_tipi_version", "categories", "description", "website", "uid"),
        *("gid", "form_fields", "supported_architectures", "created_at", "updated_at"),
    }
    for field in config["form_fields"]:
        jsonschema.validate(field, RUNTIPI_FIELD)
    assert [field["env_variable"] for field in config["form_fields"]] == FIELDS[1:]
    assert set(config["categories"]) <= RUNTIPI_CATEGORIES
    assert set(config["supported_architectures"]) == {"arm64", "amd64"}
    assert (config["tipi_version"], config["dynamic_config"]) == (1, True)
    created = dt.datetime.fromtimestamp(config["created_at"] / 1000, dt.UTC)
    assert created.year >= 2023
    assert config["updated_at"] >= config["created_at"]
    compose = read(submitted / "runtipi/docker-compose.yml")
    assert compose["x-runtipi"] == {"schema_version": 2}
    service = compose["services"][config["id"]]
    assert service["x-runtipi"] == {"is_main": True, "internal_port": 8000}
    assert service["image"] == f"{image}@{DIGEST}"
    assert config["version"] in service["image"].split(":")[1]
    assert service["volumes"] == ["${APP_DATA_DIR}/data:/data"]
    assert (config["uid"], config["gid"]) == (10001, 10001)
    assert (submitted / "runtipi/metadata/description.md").stat().st_size > 300
    assert (submitted / "runtipi/metadata/logo.jpg").read_bytes().startswith(b"\xff\xd8\xff")


def test_coolify(submitted: Path, image: str, app: dict[str, Any]) -> None:
    """Metadata in comments, generated variables, no published port."""
    text = (submitted / "coolify/waypost.yaml").read_text()
    header = dict(re.findall(r"^# (\w+): (.+)$", text.split("\n\n")[0], re.MULTILINE))
    assert list(header) == ["documentation", "slogan", "category", "tags", "logo", "port"]
    assert (submitted / "coolify" / header["logo"]).exists()
    service = yaml.safe_load(text)["services"]["waypost"]
    assert service["image"] == f"{image}@{DIGEST}"
    assert f"SERVICE_URL_WAYPOST_{header['port']}" in service["environment"]
    assert "WAYPOST_OWNER_PASSWORD=$SERVICE_PASSWORD_WAYPOST" in service["environment"]
    assert "ports" not in service
    assert service["healthcheck"]["test"] == ["CMD", *app["healthcheck"]]


EASYPANEL_TYPES = """
declare module "~templates-utils" {
  export type Service = {
    type: "app";
    data: {
      serviceName: string;
      source: { type: "image"; image: string };
      env?: string;
      domains?: { host: string; port: number }[];
      mounts?: { type: "volume"; name: string; mountPath: string }[];
    };
  };
  export type Services = Service[];
  export type Output = { services: Services };
}
"""


def test_easypanel(submitted: Path, image: str, tmp_path: Path) -> None:
    """The form as JSON Schema, and a template in TypeScript that uses what it asks."""
    directory = submitted / "easypanel"
    meta = read(directory / "meta.yaml")
    expected = {"name", "description", "instructions", "changeLog", "links", "contributors", "schema", "benefits"}
    assert meta.keys() == expected | {"features", "tags"}
    schema = meta["schema"]
    jsonschema.Draft7Validator.check_schema(schema)
    assert set(schema["required"]) == schema["properties"].keys()
    assert schema["properties"]["appServiceImage"]["default"] == f"{image}@{DIGEST}"
    assert (directory / "assets/logo.svg").exists()
    template = (directory / "index.ts").read_text()
    assert set(re.findall(r"input\.(\w+)", template)) == schema["properties"].keys()
    tsc = ROOT / ".venv" / "node" / "node_modules" / ".bin" / "tsc"
    if tsc.exists():
        properties = " ".join(f"{name}: string;" for name in schema["properties"])
        (tmp_path / "index.ts").write_text(template)
        (tmp_path / "meta.ts").write_text(f"export type Input = {{ {properties} }};")
        (tmp_path / "utils.d.ts").write_text(EASYPANEL_TYPES)
        command = [tsc, "--noEmit", "--strict", "index.ts", "utils.d.ts"]
        done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_unraid(submitted: Path, image: str) -> None:
    """The fields of its reference, the attributes of its configuration, and a profile."""
    container = ET.parse(submitted / "unraid/waypost.xml").getroot()
    assert (container.tag, container.attrib) == ("Container", {"version": "2"})
    minimum, recommended = ["Name", "Repository"], ["Category", "Icon", "Overview", "Project", "Support", "TemplateURL"]
    assert all(container.findtext(name) for name in minimum + recommended)
    assert container.findtext("Repository") == f"{image}@{DIGEST}"
    assert container.findtext("Privileged") == "false"
    for name in ("Icon", "TemplateURL"):
        url = container.findtext(name) or ""
        prefix = "https://raw.githubusercontent.com/waypost/waypost/main/"
        assert url.startswith(prefix)
        assert (ROOT / url.removeprefix(prefix)).exists()
    assert container.findtext("WebUI") == "http://[IP]:[PORT:8000]/"
    configs = {each.attrib["Target"]: each for each in container.findall("Config")}
    attributes = {"Name", "Target", "Default", "Mode", "Description", "Type", "Display", "Required", "Mask"}
    assert all(each.keys() == list(each.attrib) and set(each.keys()) == attributes for each in configs.values())
    assert list(configs) == ["8000", "/data", *FIELDS, "WAYPOST_SIGNUP", "WAYPOST_TRUSTED_PROXIES"]
    assert {each.attrib["Type"] for each in configs.values()} == {"Port", "Path", "Variable"}
    assert configs["/data"].text == "/mnt/user/appdata/waypost"
    assert configs["WAYPOST_OWNER_PASSWORD"].attrib["Mask"] == "true"
    profile = ET.parse(submitted / "unraid/ca_profile.xml").getroot()
    assert profile.tag == "CommunityApplications"
    assert profile.findtext("Profile")


class TrueNasLibrary:
    """What a template of TrueNAS calls, recorded. An unknown name is an error."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.service: dict[str, Any] = {"environment": {}, "volumes": {}, "depends_on": {}}
        self.deps = self.healthcheck = self.environment = self.depends = self.portals = self

    def add_container(self, name: str, image: str) -> "TrueNasLibrary":
        self.service["container_name"], self.service["image"] = name, self.values["images"][image]
        return self

    def perms(self, name: str) -> "TrueNasLibrary":
        return self

    def set_user(self, user: int, group: int) -> None:
        self.service["user"] = f"{user}:{group}"

    def set_custom_test(self, test: list[str]) -> None:
        self.service["healthcheck"] = test

    def add_env(self, name: str, value: str) -> None:
        self.service["environment"][name] = value

    def add_user_envs(self, variables: list[dict[str, str]]) -> None:
        for each in variables:
            self.add_env(each["name"], each["value"])

    def add_port(self, port: dict[str, Any], options: dict[str, int]) -> None:
        self.service["port"] = (port["port_number"], options["container_port"])

    def add_storage(self, path: str, storage: dict[str, Any]) -> None:
        self.service["volumes"][path] = storage["type"]

    def add_or_skip_action(self, name: str, storage: dict[str, Any], options: dict[str, Any]) -> None:
        assert options.keys() == {"uid", "gid", "mode"}

    def has_actions(self) -> bool:
        return True

    def activate(self) -> None: ...

    def add_dependency(self, name: str, condition: str) -> None:
        self.service["depends_on"][name] = condition

    def add(self, port: dict[str, Any]) -> None: ...

    def render(self) -> dict[str, Any]:
        return self.service


def render_truenas(directory: Path, form: dict[str, str]) -> dict[str, Any]:
    """The service for the values of its test, with others from the form."""
    values = read(directory / "ix_values.yaml") | read(directory / "templates/test_values/basic-values.yaml")
    values["waypost"] |= form
    environment = jinja2.Environment(extensions=["jinja2.ext.do"], undefined=jinja2.StrictUndefined, autoescape=False)
    template = environment.from_string((directory / "templates/docker-compose.yaml").read_text())
    library = {"base": {"render": {"Render": TrueNasLibrary}}}
    service: dict[str, Any] = json.loads(template.render(ix_lib=library, values=values))
    return service


def test_truenas(submitted: Path, image: str, app: dict[str, Any]) -> None:
    """The files and fields of its catalogue, and the template with the values of its test."""
    directory = submitted / "truenas"
    about = read(directory / "app.yaml")
    required = ["app_version", "capabilities", "categories", "changelog_url", "date_added", "description", "home"]
    images = ["host_mounts", "icon", "keywords", "lib_version", "lib_version_hash", "maintainers", "name"]
    assert list(about) == [
        *required,
        *images,
        *("run_as_context", "screenshots", "sources", "title", "train", "version"),
    ]
    assert (about["name"], about["train"], len(about["categories"])) == ("waypost", "community", 1)
    assert about["icon"] == "https://media.sys.truenas.net/apps/waypost/icons/icon.png"
    assert re.fullmatch(r"\d+\.\d+\.\d+", about["version"])
    fixed = read(directory / "ix_values.yaml")
    assert "{repository}:{tag}".format(**fixed["images"]["image"]) == f"{image}@{DIGEST}"

    questions = read(directory / "questions.yaml")
    groups = {each["name"] for each in questions["groups"]}
    asked = {each["variable"]: each for each in questions["questions"]}
    assert {each["group"] for each in asked.values()} == groups
    values = read(directory / "templates/test_values/basic-values.yaml")
    assert asked.keys() - {"labels"} == values.keys() - {"ix_volumes"}
    form = {each["variable"]: each["schema"] for each in asked["waypost"]["schema"]["attrs"]}
    assert form.keys() == values["waypost"].keys()
    assert [f"WAYPOST_{name.upper()}" for name, schema in form.items() if schema.get("required")] == FIELDS
    assert form["owner_password"]["private"] is True

    service = render_truenas(directory, {})
    entered = {f"WAYPOST_{name.upper()}": values["waypost"][name] for name in list(form)[:3]}
    assert service["environment"] == entered | {"WAYPOST_SIGNUP": "invite"}
    assert service["healthcheck"] == ["CMD", *app["healthcheck"]]
    assert (service["user"], service["port"]) == ("568:568", [8080, 8000])
    assert service["volumes"] == {"/data": "ix_volume"}
    assert service["depends_on"] == {"permissions": "service_completed_successfully"}


YUNOHOST_SIZE = r"[0-9]*(\.[0-9]*)?[kKmMgG]"


def test_yunohost(submitted: Path, make: dict[str, Any]) -> None:
    """Its manifest.v2.schema.json, and that scripts use what the manifest provides."""
    directory = submitted / "yunohost"
    manifest = tomllib.loads((directory / "manifest.toml").read_text())
    sections = {"upstream", "integration", "install", "resources"}
    assert manifest.keys() == sections | {"packaging_format", "id", "name", "description", "version", "maintainers"}
    assert manifest["packaging_format"] == 2
    assert manifest["version"] == f"{make['version']()}~ynh1"
    assert re.fullmatch(r"[0-9a-z]*([.-][0-9a-z]*)*~ynh[0-9]*", manifest["version"])
    assert manifest["upstream"].keys() <= {"license", "website", "demo", "admindoc", "userdoc", "code", "fund", "cpe"}
    integration = manifest["integration"]
    assert {"yunohost", "architectures", "multi_instance", "ldap", "sso"} <= integration.keys()
    assert re.fullmatch(r">= ?[0-9]{1,2}(\.[0-9]{1,2}){0,2}", integration["yunohost"])
    for size in (integration["disk"], *integration["ram"].values()):
        assert re.fullmatch(YUNOHOST_SIZE, size)
    assert {name: each["type"] for name, each in manifest["install"].items()} == {
        "domain": "domain",
        "init_main_permission": "group",
        "admin": "user",
        "password": "password",
    }
    assert manifest["resources"].keys() == {"system_user", "install_dir", "data_dir", "permissions", "ports", "apt"}
    given = {
        "app",
        "domain",
        "admin",
        "password",
        "install_dir",
        "data_dir",
        "port",
        "path",
        "owner_email",
        "new_domain",
    }
    for name in SCRIPTS[:7]:
        used = set(re.findall(r"\$\{?([a-z]\w*)", (STORES / name).read_text()))
        assert used <= given, name
    for template in (directory / "conf").iterdir():
        used = set(re.findall(r"__([A-Z_]+?)__", template.read_text()))
        assert {name.lower() for name in used} <= given - {"admin", "password", "new_domain"}, template.name
    assert read_settings(directory / "conf/waypost.env").keys() == {
        *FIELDS[:2],
        *("WAYPOST_DATA_DIR", "WAYPOST_TRUSTED_PROXIES", "WAYPOST_SIGNUP", "WAYPOST_OWNER_PASSWORD_FILE"),
    }
    assert tomllib.loads((directory / "tests.toml").read_text())["test_format"] == 1.0
    assert (directory / "doc/DESCRIPTION.md").exists()


def read_settings(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


def test_proxmox(submitted: Path) -> None:
    """The structure of its scripts and metadata: its own functions, no Docker, a working update."""
    container = (submitted / "proxmox/ct/waypost.sh").read_text()
    variables = dict(re.findall(r'^(var_\w+)="\$\{\1:-(.+)\}"$', container, re.MULTILINE))
    assert list(variables) == [
        "var_tags",
        "var_cpu",
        "var_ram",
        "var_disk",
        "var_os",
        "var_version",
        "var_unprivileged",
    ]
    steps = [
        "header_info",
        "variables",
        "color",
        "catch_errors",
        "function update_script()",
        "start",
        "build_container",
    ]
    assert in_order(container, [*steps, "description"])
    update = ["check_container_storage", "check_container_resources", "check_for_gh_release", "waypost backup"]
    assert in_order(container, [*update, "fetch_and_deploy_gh_release", "exit\n}"])
    install = (submitted / "proxmox/install/waypost-install.sh").read_text()
    head = ["color", "verb_ip6", "catch_errors", "setting_up_container", "network_check", "update_os"]
    assert in_order(install, ["$FUNCTIONS_FILE_PATH", *head, "motd_ssh", "customize", "cleanup_lxc"])
    assert not re.search(r"\b(docker|sudo|wget|useradd)\b", container + install)
    about = json.loads((submitted / "proxmox/json/waypost.json").read_text())
    assert about.keys() == {
        *("name", "slug", "categories", "date_created", "type", "updateable", "privileged", "interface_port"),
        *("documentation", "website", "logo", "config_path", "description", "install_methods"),
        *("default_credentials", "notes"),
    }
    [method] = about["install_methods"]
    assert method["script"] == "ct/waypost.sh"
    assert {f"var_{name}": str(value).lower() for name, value in method["resources"].items() if name != "hdd"} == {
        name: variables[name] for name in ("var_cpu", "var_ram", "var_os", "var_version")
    }
    assert str(method["resources"]["hdd"]) == variables["var_disk"]
    assert all(0 <= category <= 25 for category in about["categories"])
    assert {note["type"] for note in about["notes"]} <= {"info", "warning", "error"}
    assert len(about["description"]) <= 100


def in_order(text: str, parts: list[str]) -> bool:
    position = 0
    for part in parts:
        position = text.find(part, position)
        if position < 0:
            return False
    return True
