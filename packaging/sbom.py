#!/usr/bin/env python3
"""Prints the bill of materials of the program: CycloneDX 1.5 in JSON.

    packaging/sbom.py [--target TRIPLE] [--debian PACKAGE=VERSION]...

Lists every crate in the program's dependency tree for TRIPLE, with version, license and the checksum of Cargo.lock.
Crates that only help to build the program have the scope "excluded". --debian adds a library that an image contains.
Cargo's own tree decides, because `cargo metadata` also follows features that only tests turn on.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "pyxis"


def cargo(*arguments):
    command = [os.environ.get("CARGO", "cargo"), *arguments, "--locked"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def tree(target, edges):
    """Name and version of every crate that the program reaches along these edges."""
    text = cargo("tree", "--package", PROGRAM, "--target", target, "--edges", edges,
                 "--prefix", "none", "--format", "{p}")
    lines = (line.split() for line in text.splitlines() if line.strip())
    return {(words[0], words[1].removeprefix("v")) for words in lines}


def checksums():
    """SHA-256 of each crate from a registry."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(package["name"], package["version"]): package["checksum"]
            for package in lock["package"] if "checksum" in package}


def crate(package, scope, checksum):
    """A component for a crate of `cargo metadata`."""
    name, version = package["name"], package["version"]
    kind = "application" if name == PROGRAM else "library"
    component = {"type": kind, "bom-ref": f"{name}@{version}", "name": name, "version": version, "scope": scope}
    if package["description"]:
        component["description"] = " ".join(package["description"].split())
    if package["license"]:
        # Old crates write a slash where SPDX has OR.
        component["licenses"] = [{"expression": " OR ".join(re.split(" *(?:/| OR ) *", package["license"]))}]
    if package["source"]:
        component["purl"] = f"pkg:cargo/{name}@{version}"
    if checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return component


def debian(package):
    """A component for a Debian package."""
    name, version = package.split("=", 1)
    return {"type": "library", "bom-ref": f"debian:{name}@{version}", "name": name, "version": version,
            "scope": "required", "purl": f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}"}


def edges(metadata, listed):
    """Dependencies between listed crates."""
    key = {package["id"]: (package["name"], package["version"]) for package in metadata["packages"]}
    ref = {identity: f"{name}@{version}" for identity, (name, version) in key.items()}
    for node in metadata["resolve"]["nodes"]:
        if key[node["id"]] not in listed:
            continue
        kinds = ((dep["pkg"], {kind["kind"] for kind in dep["dep_kinds"]}) for dep in node["deps"])
        wanted = {ref[identity] for identity, kind in kinds if kind != {"dev"} and key[identity] in listed}
        yield {"ref": ref[node["id"]], "dependsOn": sorted(wanted)}


def bill(target, libraries):
    inside = tree(target, "normal,no-proc-macro")
    listed = tree(target, "normal,build")
    metadata = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", target))
    known = checksums()
    crates = []
    for package in sorted(metadata["packages"], key=lambda package: (package["name"], package["version"])):
        pair = (package["name"], package["version"])
        if pair in listed:
            crates.append(crate(package, "required" if pair in inside else "excluded", known.get(pair)))
    program = next(component for component in crates if component["name"] == PROGRAM)
    crates.remove(program)
    program.pop("scope")
    system = [debian(package) for package in libraries]
    dependencies = sorted(edges(metadata, listed), key=lambda entry: entry["ref"])
    own = next(entry for entry in dependencies if entry["ref"] == program["bom-ref"])
    own["dependsOn"] += [library["bom-ref"] for library in system]
    now = int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.datetime.now().timestamp())
    time = datetime.datetime.fromtimestamp(now, datetime.timezone.utc)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": program,
                     "properties": [{"name": "cargo:target", "value": target}]},
        "components": crates + system,
        "dependencies": dependencies + [{"ref": library["bom-ref"]} for library in system],
    }
    content = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}"
    return document


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default=f"{os.uname().machine}-unknown-linux-gnu")
    parser.add_argument("--debian", action="append", default=[])
    options = parser.parse_args()
    print(json.dumps(bill(options.target, options.debian), indent=1))
