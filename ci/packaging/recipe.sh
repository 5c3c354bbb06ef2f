# shellcheck shell=bash
# Read by compose.sh and single.sh: both start the services of a Compose recipe by hand, in namespaces of their own. They
# set `program`, `python` and `work`.

# failed WHY: shows the logs.
failed() {
    echo "compose: $1" >&2
    tail -n 20 "$work"/*.log >&2
    exit 1
}

# soon WHAT COMMAND...: waits until a command succeeds.
soon() {
    local what=$1 deadline=$((SECONDS + 60))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < deadline)) || failed "$what: not within a minute"
        sleep 0.2
    done
}

# as USER COMMAND...: in an empty environment.
as() {
    local user=$1
    shift
    setpriv --reuid="$user" --regid="$user" --clear-groups -- env -i PATH="$PATH" "$@"
}

# environment_of FILE SERVICE HOST: fills `environment` as Compose reads it; what is between braces is HOST.
environment_of() {
    local text
    text=$("$python" - "packaging/compose/$1" "$2" "$3" <<'END'
import sys, yaml
path, service, host = sys.argv[1:]
for name, value in yaml.safe_load(open(path))["services"][service]["environment"].items():
    print(f"{name}={str(value).replace('${PYXIS_HOST:?the name that browsers see}', host)}")
END
)
    mapfile -t environment <<<"$text"
}

# prepare: a network of its own with the names on standard input, the recipe with its secrets in /run/recipe, and the
# program in /run/program. `user` is the image's user.
prepare() {
    mount --make-rprivate /
    mount -t tmpfs tmpfs /run
    ip link set lo up
    cat >"$work/hosts"
    mount --bind "$work/hosts" /etc/hosts
    # A bind mount is as large as the program.
    touch /run/program
    mount --bind "$program" /run/program
    chmod 755 "$program"
    user=$(sed -n 's/^USER \([0-9]*\):.*/\1/p' packaging/Containerfile)
    echo "compose: secrets"
    # Where services that are not root can read it.
    mkdir /run/recipe /run/secrets
    find packaging/compose -maxdepth 1 -type f -exec cp -t /run/recipe {} +
    sh /run/recipe/secrets.sh
}
