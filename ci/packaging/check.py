"""Checks the recipes of packaging/: Kubernetes manifests and compose files by their schemas, and that the parts fit.

    check.py SBOM

Needs kubernetes-validate, compose-spec, cyclonedx-python-lib[json-validation] and PyYAML; ci/packaging.sh has them.
"""

import json
import pathlib
import re
import sys

import compose_spec
import kubernetes_validate
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = pathlib.Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "packaging/kubernetes"
COMPOSE = ROOT / "packaging/compose"
# The oldest version that has every field in use, and the newest one known.
VERSIONS = ["1.30", "1.37"]
VARIABLES = set(re.findall(r"PX_[A-Z0-9_]+", (ROOT / "docs/reference/configuration.md").read_text()))


def require(condition, message):
    if not condition:
        sys.exit(f"packaging: {message}")


def documents(path):
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def manifests():
    """Every manifest by its file; each file is listed by the kustomization of its folder, if it is not applied once."""
    for kustomization in sorted(KUBERNETES.glob("*/kustomization.yaml")):
        folder = kustomization.parent
        listed = documents(kustomization)[0]["resources"]
        for name in listed:
            require((folder / name).exists(), f"{kustomization}: there is no {name}")
        for path in sorted(folder.glob("*.yaml")):
            if path != kustomization:
                require(path.name in listed or path.name == "bootstrap-job.yaml", f"{path} is not listed")
                yield from ((path, document) for document in documents(path))


def check_kubernetes():
    found = list(manifests())
    settings = next(document for _, document in found if document["kind"] == "ConfigMap")["data"]
    for path, document in found:
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)
        require(document["metadata"].get("namespace", "pyxis") == "pyxis", f"{path}: another namespace")
        if document["kind"] in ("StatefulSet", "Job"):
            check_pod(path, document["spec"]["template"], settings)
        if document["kind"] == "StatefulSet":
            check_server(path, document, found)
    return len(found)


def check_pod(path, template, settings):
    pod = template["spec"]
    [container] = pod["containers"]
    security = pod["securityContext"] | container["securityContext"]
    for key in ("runAsNonRoot", "readOnlyRootFilesystem"):
        require(security.get(key) is True, f"{path}: {key} is missing")
    require(security["runAsUser"] == 65532, f"{path}: not the user of the image")
    require(security["seccompProfile"]["type"] == "RuntimeDefault", f"{path}: no seccomp")
    require(security["capabilities"] == {"drop": ["ALL"]}, f"{path}: capabilities are kept")
    require(security["allowPrivilegeEscalation"] is False, f"{path}: privileges may grow")
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    variables = settings | {entry["name"]: entry["value"] for entry in container.get("env", [])}
    check_variables(path, variables)
    for name, value in variables.items():
        if name.endswith(("_FILE", "_DIR")):
            require(any(value.startswith(mount) for mount in mounts), f"{path}: {name} is on no volume")


def check_server(path, document, found):
    template = document["spec"]["template"]
    labels = template["metadata"]["labels"]
    [container] = template["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    require(ports == {"http": 8700, "metrics": 8701}, f"{path}: other ports")
    for probe, target in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        require(container[probe]["httpGet"] == {"path": target, "port": "http"}, f"{path}: {probe}")
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    require(template["spec"]["terminationGracePeriodSeconds"] > pause + 100, f"{path}: killed while it drains")
    services = [service for _, service in found if service["kind"] == "Service"]
    require(document["spec"]["serviceName"] in {service["metadata"]["name"] for service in services}, f"{path}: service")
    selectors = [service["spec"]["selector"] for service in services]
    selectors += [budget["spec"]["selector"]["matchLabels"] for _, budget in found
                  if budget["kind"] == "PodDisruptionBudget"]
    selectors += [policy["spec"]["podSelector"]["matchLabels"] for _, policy in found
                  if policy["kind"] == "NetworkPolicy"]
    selectors += [document["spec"]["selector"]["matchLabels"]]
    for selector in selectors:
        require(selector.items() <= labels.items(), f"{path}: {selector} does not select it")


def check_variables(path, variables):
    for name in variables:
        require(not name.startswith("PX_") or name in VARIABLES, f"{path}: Pyxis has no setting {name}")


def check_compose():
    paths = sorted(COMPOSE.glob("*.yaml"))
    for path in paths:
        # Variables as Compose fills them in, with their defaults.
        text = re.sub(r"\$\{[A-Z_]+(?::-([^}]*)|:\?[^}]*)?\}", lambda match: match[1] or "set", path.read_text())
        compose = yaml.safe_load(text)
        compose_spec.PyCompose.from_json(json.dumps(compose)).validate()
        if path.name == "agent.yaml":
            # It has no server. Its key and its folders are made by hand, as its first lines say.
            for name, service in compose["services"].items():
                check_variables(f"{path}: {name}", set(service.get("environment", {})) - {"PX_URL", "PX_AGENT_KEY_FILE"})
            check = compose["services"]["pyxis-proxy"]["healthcheck"]["test"]
            require(check == ["CMD", "/usr/bin/pyxis", "healthcheck", "--proxy"], f"{path}: healthcheck")
            condition = compose["services"]["agent"]["depends_on"]["pyxis-proxy"]["condition"]
            require(condition == "service_healthy", f"{path}: the agent does not wait for the proxy")
            continue
        for source in (secret["file"] for secret in compose.get("secrets", {}).values()):
            require(source.startswith("./secrets/"), f"{path}: {source}")
            made = (COMPOSE / "secrets.sh").read_text()
            require(f"keep {pathlib.Path(source).name} " in made, f"{path}: secrets.sh does not make {source}")
        for name, service in compose["services"].items():
            check_service(f"{path}: {name}", service)
    return len(paths)


def check_service(name, service):
    require(service.get("image"), f"{name}: no image")
    check_variables(name, service.get("environment", {}))
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        require(not source.startswith(".") or (COMPOSE / source).is_file(), f"{name}: there is no {source}")
    if service["image"].startswith("pyxis:"):
        require(service["read_only"] and service["cap_drop"] == ["ALL"], f"{name}: not hardened")
        require(service["healthcheck"]["test"] == ["CMD", "/usr/bin/pyxis", "healthcheck"], f"{name}: healthcheck")
        require(service["stop_grace_period"] == "100s", f"{name}: killed while it drains")


def check_bill(path):
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(pathlib.Path(path).read_text())
    require(error is None, f"{path}: {error}")


if __name__ == "__main__":
    check_bill(sys.argv[1])
    print(f"packaging: {check_kubernetes()} manifests and {check_compose()} compose files are valid")
