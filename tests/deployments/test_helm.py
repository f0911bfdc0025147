"""The Helm chart, rendered by Helm for many values: against the schemas of Kubernetes, and against our own rules."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kubernetes_validate", reason="kubernetes_validate is missing: make test installs it")
pytest.importorskip("helm_python", reason="helm_python is missing: make test installs it")

import kubernetes_validate
import yaml
from architecture.code import ROOT
from deployments.helm import CHART, Rendering, Values, lint, package, render

from waypost.settings import PREFIX, Settings
from waypost.settings.model import SECRETS
from waypost.version import VERSION
from waypost.worker import parent

VERSIONS = [f"1.{minor}" for minor in range(29, 38)]
LOCAL: Values = {"baseUrl": "http://localhost:8000"}
SINGLE: Values = {"baseUrl": "https://go.example.com", "trustedProxies": ["10.42.0.0/16"]}
NODES: Values = {
    "mode": "nodes",
    "baseUrl": "https://app.example.com",
    "sharedDomain": "go.example.com",
    "trustedProxies": ["10.0.0.0/8", "fd00::/8"],
    "secrets": {"database_url": "postgresql://waypost:secret@postgres/waypost", "secret_key": "k" * 40},
}
EXISTING: Values = {"existingSecret": {"name": "of-mine", "keys": ["database_url", "secret_key", "smtp_url"]}}
_EVERY_HOST: Values = {"enabled": True, "customDomains": True}


def merged(values: Values, *changes: Values) -> Values:
    """As Helm merges value files."""
    result = copy.deepcopy(values)
    for change in changes:
        for name, value in change.items():
            both = isinstance(value, dict) and isinstance(result.get(name), dict)
            result[name] = merged(result[name], value) if both else value
    return result


CASES = {
    "local": LOCAL,
    "single": SINGLE,
    "single, no pod": merged(SINGLE, {"single": {"replicas": 0}}),
    "single, an owner": merged(
        SINGLE, {"ownerEmail": "you@example.com", "secrets": {"owner_password": "correct horse"}}
    ),
    "single, settings": merged(
        SINGLE,
        {
            "settings": {
                "WAYPOST_SIGNUP": "closed",
                "WAYPOST_IGNORE_CASE": False,
                "WAYPOST_ROUTES_IN_MEMORY": 25_000_000,
            }
        },
    ),
    "single, PostgreSQL": merged(SINGLE, {"secrets": {"database_url": "postgresql://waypost@db/waypost"}}),
    "single, Ingress": merged(SINGLE, {"ingress": {"enabled": True, "className": "traefik", "tlsSecret": "tls"}}),
    "single, Ingress for two hosts": merged(
        SINGLE,
        {"sharedDomain": "s.example.com:8443", "ingress": {**_EVERY_HOST, "annotations": {"a.example/b": "true"}}},
    ),
    "single, HTTPRoute": merged(SINGLE, {"httpRoute": {**_EVERY_HOST, "parentRefs": [{"name": "public"}]}}),
    "single, LoadBalancer": merged(LOCAL, {"service": {"type": "LoadBalancer", "annotations": {"a.example/b": "c"}}}),
    "single, NodePort": merged(LOCAL, {"service": {"type": "NodePort"}}),
    "single, storage": merged(SINGLE, {"storage": {"size": "500Mi", "className": "fast"}}),
    "single, image": merged(
        SINGLE,
        {
            "image": {"repository": "registry.example/waypost", "tag": "1.2.3", "pullPolicy": "Always"},
            "imagePullSecrets": [{"name": "registry"}],
        },
    ),
    "single, any user": merged(SINGLE, {"runAsUser": None}),
    "single, another user": merged(SINGLE, {"runAsUser": 65532}),
    "single, a file": merged(
        SINGLE,
        {
            "settings": {"WAYPOST_BLOCKLIST": "/etc/waypost/blocklist"},
            "extraVolumes": [{"name": "lists", "configMap": {"name": "lists"}}],
            "extraVolumeMounts": [{"name": "lists", "mountPath": "/etc/waypost"}],
        },
    ),
    "single, network policy": merged(SINGLE, {"networkPolicy": {"enabled": True, "privatePorts": []}}),
    "single, names": merged(SINGLE, {"nameOverride": "short", "fullnameOverride": "a-name-" + "x" * 60}),
    "nodes": NODES,
    "nodes, ClickHouse": merged(
        NODES, {"secrets": {"clickhouse_url": "http://waypost:secret@clickhouse:8123/waypost"}}
    ),
    "nodes, existing Secret": merged({**NODES, "secrets": {}}, EXISTING),
    "nodes, one host": merged({**NODES, "sharedDomain": ""}, {"ingress": _EVERY_HOST}),
    "nodes, Ingress": merged(NODES, {"ingress": {**_EVERY_HOST, "tlsSecret": "tls"}}),
    "nodes, HTTPRoute": merged(NODES, {"httpRoute": {**_EVERY_HOST, "parentRefs": [{"name": "public"}]}}),
    "nodes, network policy": merged(NODES, {"networkPolicy": {"enabled": True, "visitorsFrom": ["traefik", "caddy"]}}),
    "nodes, many": merged(NODES, {"redirect": {"replicas": 12}, "web": {"replicas": 3}}),
    "nodes, resources": merged(NODES, {"worker": {"resources": {"limits": {"memory": "2Gi", "cpu": 2}}}}),
    "nodes, where and how": merged(
        NODES,
        {
            "nodeSelector": {"kubernetes.io/arch": "arm64"},
            "tolerations": [{"key": "links", "operator": "Exists", "effect": "NoSchedule"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
            "priorityClassName": "important",
            "podLabels": {"team": "links"},
            "podAnnotations": {"prometheus.io/scrape": "true"},
            "extraEnv": [{"name": "SSL_CERT_FILE", "value": "/etc/ca.pem"}],
        },
    ),
}
WRONG = {
    "baseUrl is missing": {},
    "at '/baseUrl': 'go.example.com' does not match pattern": {"baseUrl": "go.example.com"},
    "at '/baseUrl': 'https://example.com/links' does not match": {"baseUrl": "https://example.com/links"},
    "trustedProxies is missing": {"baseUrl": "https://go.example.com"},
    "additional properties 'replicaCount' not allowed": merged(LOCAL, {"replicaCount": 2}),
    "single.replicas is 2, but the files of SQLite": merged(LOCAL, {"single": {"replicas": 2}}),
    "mode=nodes needs database_url in secrets": {**NODES, "secrets": {"secret_key": "k" * 40}},
    "mode=nodes needs secret_key in secrets": {**NODES, "secrets": {"database_url": "postgresql://db/waypost"}},
    "existingSecret with this key": {**NODES, "secrets": {}, "existingSecret": {"name": "mine", "keys": ["smtp_url"]}},
    "secrets and existingSecret are both set": merged(NODES, EXISTING),
    "clickhouse_url needs database_url": merged(
        LOCAL, {"secrets": {"clickhouse_url": "http://clickhouse:8123/waypost"}}
    ),
    "ownerEmail and owner_password": merged(LOCAL, {"ownerEmail": "you@example.com"}),
    "httpRoute.parentRefs is missing": merged(LOCAL, {"httpRoute": {"enabled": True}}),
    "invalid propertyName 'WAYPOST_SIGN_UP'": merged(LOCAL, {"settings": {"WAYPOST_SIGN_UP": "closed"}}),
    "invalid propertyName 'WAYPOST_DATABASE_URL'": merged(
        LOCAL, {"settings": {"WAYPOST_DATABASE_URL": "postgresql://"}}
    ),
    "invalid propertyName 'DATABASE_URL'": merged(LOCAL, {"secrets": {"DATABASE_URL": "postgresql://db/waypost"}}),
    "at '/secrets/smtp_url': minLength": merged(LOCAL, {"secrets": {"smtp_url": ""}}),
    "at '/mode': value must be one of 'single', 'nodes'": merged(LOCAL, {"mode": "cluster"}),
    "at '/storage/size'": merged(LOCAL, {"storage": {"size": "10"}}),
    "at '/ingress': additional properties 'hosts' not allowed": merged(LOCAL, {"ingress": {"hosts": ["example.com"]}}),
}
"""By what a user reads."""


@pytest.fixture(scope="module")
def renderings() -> dict[str, Rendering]:
    done = dict(zip(CASES, render(*CASES.values()), strict=True))
    assert {name: each.error for name, each in done.items() if each.error} == {}
    return done


@pytest.fixture(params=CASES)
def rendering(request: pytest.FixtureRequest, renderings: dict[str, Rendering]) -> Rendering:
    return renderings[request.param]


def pods(rendering: Rendering) -> Iterator[dict[str, Any]]:
    return (each["spec"]["template"]["spec"] for each in rendering.of_kind("StatefulSet", "Job"))


def test_the_chart_has_the_version_of_waypost() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


def test_strict_lint_has_nothing_to_say() -> None:
    for name, report in zip(["no values", *CASES], lint({}, *CASES.values()), strict=True):
        assert (report["messages"], report["errors"]) == ([], []), name


@pytest.mark.parametrize("version", VERSIONS)
def test_renderings_match_the_published_schemas(renderings: dict[str, Rendering], version: str) -> None:
    """The lists that the API of Kubernetes has for each kind: a schema is read once for all."""
    objects = [each for rendering in renderings.values() for each in rendering.objects]
    kinds = {(each["apiVersion"], each["kind"]) for each in objects} - {("gateway.networking.k8s.io/v1", "HTTPRoute")}
    assert len(kinds) == 7
    for api_version, kind in kinds:
        items = [each for each in objects if each["kind"] == kind]
        kubernetes_validate.validate(
            {"apiVersion": api_version, "kind": f"{kind}List", "metadata": {}, "items": items}, version, strict=True
        )


def test_wrong_values_are_refused() -> None:
    for message, rendering in zip(WRONG, render(*WRONG.values()), strict=True):
        assert message in rendering.error


def test_values_of_the_documentation_are_right() -> None:
    page = (ROOT / "docs" / "get-started" / "kubernetes.md").read_text()
    single, owner, nodes, restore = (
        yaml.safe_load(each) for each in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    )
    inline = [
        yaml.safe_load(each) for each in re.findall(r"`((?:settings|existingSecret|httpRoute|runAsUser): .+?)`", page)
    ]
    assert len(inline) == 3
    for rendering in render(single, merged(single, owner), nodes, merged({**nodes, "secrets": {}}, *inline)):
        assert rendering.error == ""
    [single_pod] = render(single)[0].of_kind("StatefulSet")
    [container], [restoring] = single_pod["spec"]["template"]["spec"]["containers"], restore["spec"]["containers"]
    assert restoring["volumeMounts"][0] in container["volumeMounts"]
    assert single_pod["spec"]["volumeClaimTemplates"][0]["metadata"]["name"] == restoring["volumeMounts"][0]["name"]


def test_the_schema_knows_each_setting() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    by_values_of_their_own = {"base_url", "shared_domain", "trusted_proxies", "owner_email", "data_dir"}
    not_with_a_service_before_it = {"tls", "tls_port", "acme_directory", "acme_email"}
    names = Settings.model_fields.keys() - by_values_of_their_own - not_with_a_service_before_it - SECRETS
    assert schema["properties"]["settings"]["propertyNames"]["enum"] == sorted(
        f"{PREFIX}{each.upper()}" for each in names
    )
    assert schema["$defs"]["secret"]["enum"] == sorted(SECRETS)


def test_the_schema_knows_each_value() -> None:
    def compare(values: Values, schema: dict[str, Any]) -> None:
        if "$ref" in schema:
            schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
        if "properties" in schema:
            assert values.keys() == schema["properties"].keys() - {"global"}
            for name, value in values.items():
                compare(value, schema["properties"][name])

    whole = json.loads((CHART / "values.schema.json").read_text())
    compare(yaml.safe_load((CHART / "values.yaml").read_text()), whole)


def test_names_are_unique_and_fit(rendering: Rendering) -> None:
    assert len(rendering.by_name()) == len(rendering.objects)
    for each in rendering.of_kind("StatefulSet"):
        assert len(each["metadata"]["name"]) <= 52  # with the hash of a revision, a label


def test_objects_find_each_other(rendering: Rendering) -> None:
    templates = [each["spec"]["template"]["metadata"]["labels"] for each in rendering.of_kind("StatefulSet")]

    def chosen(labels: dict[str, str]) -> int:
        return sum(labels.items() <= each.items() for each in templates)

    for each in rendering.of_kind("StatefulSet", "PodDisruptionBudget"):
        assert chosen(each["spec"]["selector"]["matchLabels"]) == 1
    services = {each["metadata"]["name"]: each["spec"] for each in rendering.of_kind("Service")}
    for each in services.values():
        assert chosen(each["selector"]) == 1
        assert [port["targetPort"] for port in each["ports"]] == ["http"]
    for each in rendering.of_kind("StatefulSet"):
        assert each["spec"]["serviceName"] in services
    for each in rendering.of_kind("NetworkPolicy"):
        assert chosen(each["spec"]["podSelector"]["matchLabels"]) == len(templates)
    for rule in (rule for each in rendering.of_kind("Ingress") for rule in each["spec"]["rules"]):
        assert rule["http"]["paths"][0]["backend"]["service"]["name"] in services
    for each in rendering.of_kind("HTTPRoute"):
        assert each["spec"]["rules"][0]["backendRefs"][0]["name"] in services


def test_settings_exist(rendering: Rendering) -> None:
    names = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for container in (each for pod in pods(rendering) for each in pod["containers"]):
        used = [each["name"] for each in container["env"] if each["name"].startswith(PREFIX)]
        assert {name.removesuffix("_FILE") for name in used} <= names
        assert len(set(used)) == len(used)
        assert all(isinstance(each["value"], str) for each in container["env"])


def test_no_variable_of_kubernetes_becomes_a_setting(rendering: Rendering) -> None:
    for pod in pods(rendering):
        assert pod["enableServiceLinks"] is False
        assert pod["automountServiceAccountToken"] is False


def test_containers_have_no_privileges(rendering: Rendering) -> None:
    """What the policy "restricted" of Kubernetes asks for, and a read-only root."""
    for pod in pods(rendering):
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True
        assert len({security.get(name) for name in ("runAsUser", "runAsGroup", "fsGroup")}) == 1
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"].keys() == {"requests", "limits"}


def test_volumes_and_secrets_exist(rendering: Rendering) -> None:
    secrets = {each["metadata"]["name"]: each["stringData"].keys() for each in rendering.of_kind("Secret")}
    secrets["of-mine"] = EXISTING["existingSecret"]["keys"]
    for workload in rendering.of_kind("StatefulSet", "Job"):
        pod = workload["spec"]["template"]["spec"]
        claims = {each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", [])}
        volumes = {each["name"]: each for each in pod["volumes"]}
        for container in pod["containers"]:
            mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            assert mounts.keys() <= {*claims, *volumes}
            assert mounts["tmp"] == "/tmp"
            env = {each["name"]: each["value"] for each in container["env"]}
            assert env["WAYPOST_DATA_DIR"].startswith((mounts.get("data", "/tmp") + "/", "/tmp/"))
            files = [value for name, value in env.items() if name.startswith(PREFIX) and name.endswith("_FILE")]
            for file in files:
                directory, _, key = file.rpartition("/")
                assert directory == mounts["secrets"]
                assert key in secrets[volumes["secrets"]["secret"]["secretName"]]


def test_pods_end_before_they_are_killed(rendering: Rendering) -> None:
    """A worker also after what it drains."""
    for each in rendering.of_kind("StatefulSet"):
        pod = each["spec"]["template"]["spec"]
        waits = [int(each["lifecycle"]["preStop"]["exec"]["command"][1]) for each in pod["containers"]]
        assert pod["terminationGracePeriodSeconds"] > max(waits) + 12
        if len(waits) == 2:
            assert waits[1] > waits[0] + parent.KILL_TIMEOUT - 1


def test_the_database_is_migrated_before_anything_else(rendering: Rendering) -> None:
    """Hooks with a Secret of their own: other objects are not there yet, or still those of the version before."""
    needs_it = any("WAYPOST_DATABASE_URL_FILE" in json.dumps(pod) for pod in pods(rendering))
    hooks = [each for each in rendering.objects if "helm.sh/hook" in each["metadata"].get("annotations", {})]
    assert [each["kind"] for each in hooks if each["kind"] != "Secret"] == ["Job"] * needs_it
    for each in hooks:
        assert each["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
        if each["kind"] == "Job":
            assert each["spec"]["template"]["spec"]["restartPolicy"] == "Never"  # a pod that failed stays, with its log
            [secret] = [v["secret"] for v in each["spec"]["template"]["spec"]["volumes"] if "secret" in v]
            assert secret["secretName"] in {"of-mine", *(hook["metadata"]["name"] for hook in hooks)}


def routes(rendering: Rendering) -> dict[str, str]:
    """By host. An empty one is any other."""
    return {
        rule.get("host", ""): rule["http"]["paths"][0]["backend"]["service"]["name"]
        for each in rendering.of_kind("Ingress")
        for rule in each["spec"]["rules"]
    } | {
        host: each["spec"]["rules"][0]["backendRefs"][0]["name"]
        for each in rendering.of_kind("HTTPRoute")
        for host in each["spec"].get("hostnames", [""])
    }


def test_each_host_leads_to_its_pods(renderings: dict[str, Rendering]) -> None:
    single, web, redirect = (f"links-waypost{role}" for role in ("", "-web", "-redirect"))
    found = {name: routes(each) for name, each in renderings.items() if routes(each)}
    of_nodes = {"app.example.com": web, "go.example.com": redirect, "": redirect}
    assert found == {
        "single, Ingress": {"go.example.com": single},
        "single, Ingress for two hosts": {"go.example.com": single, "s.example.com": single, "": single},
        "single, HTTPRoute": {"go.example.com": single, "": single},
        "nodes, one host": {"app.example.com": web, "": redirect},
        "nodes, Ingress": of_nodes,
        "nodes, HTTPRoute": of_nodes,
    }


def test_notes_say_how_to_sign_in(renderings: dict[str, Rendering]) -> None:
    assert "logs links-waypost-0 --container waypost | grep /setup" in renderings["single"].notes
    assert "logs links-waypost-web-0 --container web | grep /setup" in renderings["nodes"].notes
    assert "Sign in as you@example.com" in renderings["single, an owner"].notes
    assert "port-forward service/links-waypost 8000:80" in renderings["local"].notes
    assert "port-forward" not in renderings["nodes, Ingress"].notes


def difference(before: Any, after: Any, path: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            yield from difference(before.get(name), after.get(name), f"{path}.{name}" if path else name)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from difference(*pair, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {json.dumps(before)} → {json.dumps(after)}"


def upgrade(before: Rendering, after: Rendering) -> dict[str, list[str]]:
    """As a diff: what changes in which object."""
    old, new = before.by_name(), after.by_name()
    changed = {name: list(difference(old.get(name), new.get(name))) for name in sorted(old.keys() | new.keys())}
    return {name: lines for name, lines in changed.items() if lines}


MAY_CHANGE = {"replicas", "template", "updateStrategy", "minReadySeconds", "persistentVolumeClaimRetentionPolicy"}
"""In the `spec` of a StatefulSet. Kubernetes refuses a change of all else."""


def restarted(before: Rendering, after: Rendering) -> set[str]:
    """The pods whose template changes, after a check that nothing changes that cannot."""
    found = set()
    old = before.by_name()
    for name, each in after.by_name().items():
        if each["kind"] == "StatefulSet" and name in old:
            fixed, fixed_before = (
                {key: value for key, value in one["spec"].items() if key not in MAY_CHANGE} for one in (each, old[name])
            )
            assert fixed == fixed_before
            if each["spec"]["template"] != old[name]["spec"]["template"]:
                found.add(name.removeprefix("StatefulSet/links-waypost"))
    return found


UPGRADES = {
    "nothing": ({}, set(), set()),
    "the image": (
        {"image": {"tag": "9.9.9"}},
        {"Job/links-waypost-migrate", "StatefulSet/links-waypost-redirect", "StatefulSet/links-waypost-web"},
        {"-redirect", "-web"},
    ),
    "a setting": (
        {"settings": {"WAYPOST_SIGNUP": "closed"}},
        {"Job/links-waypost-migrate", "StatefulSet/links-waypost-redirect", "StatefulSet/links-waypost-web"},
        {"-redirect", "-web"},
    ),
    "a secret": (
        {"secrets": {"database_url": "postgresql://waypost:changed@postgres/waypost"}},
        {
            "Secret/links-waypost",
            "Secret/links-waypost-migrate",
            "StatefulSet/links-waypost-redirect",
            "StatefulSet/links-waypost-web",
        },
        {"-redirect", "-web"},
    ),
    "more pods": ({"redirect": {"replicas": 5}}, {"StatefulSet/links-waypost-redirect"}, set()),
    "memory of web": (
        {"web": {"resources": {"limits": {"memory": "3Gi"}}}},
        {"StatefulSet/links-waypost-web"},
        {"-web"},
    ),
    "an Ingress": ({"ingress": {"enabled": True}}, {"Ingress/links-waypost"}, set()),
    "a network policy": ({"networkPolicy": {"enabled": True}}, {"NetworkPolicy/links-waypost"}, set()),
}
"""By what changes in `NODES`: which objects change, and which pods restart."""


def test_an_upgrade_restarts_only_what_it_must() -> None:
    before, *changed = render(NODES, *(merged(NODES, change) for change, _, _ in UPGRADES.values()))
    for after, (what, (_, objects, pods)) in zip(changed, UPGRADES.items(), strict=True):
        assert upgrade(before, after).keys() == objects, what
        assert restarted(before, after) == pods, what


def test_an_upgrade_of_the_image_as_a_diff() -> None:
    before, after = render(LOCAL, merged(LOCAL, {"image": {"tag": "9.9.9"}}))
    image = "ghcr.io/waypost/waypost"
    assert upgrade(before, after) == {
        "StatefulSet/links-waypost": [
            f'spec.template.spec.containers[0].image: "{image}:{VERSION}" → "{image}:9.9.9"',
        ]
    }


def test_a_new_version_of_the_chart_changes_labels_and_images(tmp_path: Path) -> None:
    archive = package(tmp_path, "9.9.9")
    [before], [after] = render(NODES), render(NODES, chart=archive)
    lines = {line.partition(":")[0] for lines in upgrade(before, after).values() for line in lines}
    image = "spec.template.spec.containers[{}].image"
    labels = {"metadata.labels.app.kubernetes.io/version", "metadata.labels.helm.sh/chart"}
    assert lines == {*labels, image.format(0), image.format(1)}
    [before], [after] = (render(merged(NODES, {"image": {"tag": "1.2.3"}}), chart=chart) for chart in (CHART, archive))
    assert restarted(before, after) == set()  # labels alone restart nothing


def test_from_one_pod_to_nodes() -> None:
    """Its volume is kept, and no object of the same name changes what cannot change."""
    [before], [after] = render(SINGLE), render(NODES)
    assert restarted(before, after) == set()
    assert not {each["metadata"]["name"] for each in before.of_kind("StatefulSet")} & {
        each["metadata"]["name"] for each in after.of_kind("StatefulSet")
    }
