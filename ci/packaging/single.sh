#!/usr/bin/env bash
# single.sh PROGRAM PYTHON FOLDER: the services of packaging/compose/single.yaml and agent.yaml started by hand, for want of
# a container engine: one node behind Caddy, and an agent whose only way out is `pyxis proxy`. Environment, secrets and
# commands are those of the recipes. A second site of the same Caddy stands in for GitHub.
#
# Run it as root in new mount, process and network namespaces, which end with it. PYTHON has PyYAML.
set -euo pipefail

program=$(realpath "$1") python=$2 work=$3

. ci/packaging/recipe.sh

prepare <<'END'
127.0.0.1 localhost
127.0.88.2 pyxis.example.com api.github.com
127.0.88.3 pyxis
127.0.88.4 pyxis-proxy
END
mount -t tmpfs tmpfs /var/lib
cp --preserve=mode,ownership /run/recipe/secrets/key /run/secrets

echo "compose: Caddy"
# Its own authority, because no other one reaches this network.
{
    printf '{\n\tlocal_certs\n}\n'
    cat /run/recipe/Caddyfile
    # What GitHub receives, which Pyxis does not let through.
    printf 'api.github.com {\n\trespond "{method} {path} {http.request.header.Authorization}"\n}\n'
} >/run/Caddyfile
export XDG_DATA_HOME=$work/caddy XDG_CONFIG_HOME=$work/caddy
PYXIS_HOST=pyxis.example.com PYXIS_NODES=pyxis:8700 \
    caddy run --adapter caddyfile --config /run/Caddyfile >"$work/caddy.log" 2>&1 &
made=$work/caddy/caddy/pki/authorities/local/root.crt
soon "Caddy's authority" test -s "$made"
install --mode=644 "$made" /run/authority.pem

echo "compose: one node"
environment_of single.yaml pyxis pyxis.example.com
# The user can enter only what it owns.
install --directory --owner="$user" --group="$user" --mode=700 /run/data
# node COMMAND...: the program, as the recipe runs it. The authority and the network are those of this test.
node() {
    (cd /run/data && as "$user" "${environment[@]}" PX_DATA_DIR=/run/data PX_LISTEN=127.0.88.3:8700 \
        PX_EGRESS_CA_FILE=/run/authority.pem PX_EGRESS_ALLOW=127.0.0.0/8 /run/program "$@")
}
node bootstrap --owner-email ana@example.org --json >"$work/bootstrap.json" 2>"$work/bootstrap.log" || failed bootstrap
echo ghp_a_token_for_the_recipe_0001 >/run/data/token
chown "$user" /run/data/token
node credential add github --preset github --secret-file token >"$work/credential.log" 2>&1 || failed "the credential"
node serve >"$work/node.log" 2>&1 &
soon "the node" node healthcheck
if grep '"level":"WARN"' "$work/node.log"; then failed "the node warns at its start"; fi
through() { curl --silent --fail --max-time 20 --cacert /run/authority.pem "https://pyxis.example.com$1"; }
soon "Caddy" through /readyz
node bootstrap --owner-email ana@example.org >"$work/again.log" 2>&1 && failed "a second bootstrap"

echo "compose: an agent and its proxy"
environment_of agent.yaml pyxis-proxy pyxis.example.com
mkdir -p /run/pyxis /var/lib/pyxis
chown 1000:1000 /run/pyxis /var/lib/pyxis
chmod 700 /var/lib/pyxis
key=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["agent_key"])' "$work/bootstrap.json")
install --owner=1000 --group=1000 --mode=600 /dev/null /run/secrets/agent-key
echo "$key" >/run/secrets/agent-key
proxy() { as 1000 "${environment[@]}" PX_EGRESS_CA_FILE=/run/authority.pem PX_EGRESS_ALLOW=127.0.0.0/8 /run/program "$@"; }
mapfile -t command < <("$python" - packaging/compose/agent.yaml <<'END'
import sys, yaml
print("\n".join(yaml.safe_load(open(sys.argv[1]))["services"]["pyxis-proxy"]["command"]))
END
)
proxy "${command[@]}" >"$work/proxy.log" 2>&1 &
soon "the proxy" proxy healthcheck --proxy
# The agent is another user, who reads the shared directory only.
"$python" - packaging/compose/agent.yaml >/run/agent.sh <<'END'
import sys, yaml
shell, option, text = yaml.safe_load(open(sys.argv[1]))["services"]["agent"]["command"]
assert (shell, option) == ("sh", "-c")
# Compose writes a dollar sign as two.
print(text.replace("$$", "$"))
END
chmod 644 /run/agent.sh
said=$(as 65534 sh /run/agent.sh 2>"$work/agent.log") || failed "the agent's command"
[[ $said == "GET /user "*REDACTED* ]] || failed "the agent got: $said"
if as 65534 sh -c '. /run/pyxis/env.sh; curl -sSf https://pyxis.example.com/' >"$work/stranger.log" 2>&1; then
    failed "the agent reached a host without a credential"
fi
if grep --recursive --quiet --fixed-strings "$key" /run/pyxis; then failed "the agent's directory has the key"; fi
for file in /var/lib/pyxis/proxy.json /run/secrets/agent-key; do
    [[ -s $file ]] || failed "$file is missing"
    if as 65534 cat "$file" >/dev/null 2>&1; then failed "the agent reads $file"; fi
done
echo "packaging: one node of Compose serves behind Caddy, and an agent behind its proxy reaches its host without a key"
