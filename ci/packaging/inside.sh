# On the copied machine: installs the Debian package, runs the service, removes the package.
set -Eeuo pipefail
trap 'echo "failed in line $LINENO: $BASH_COMMAND"; journalctl --no-pager --unit pyxis | tail -n 40' ERR

# expect WANTED GOT
expect() {
    if [[ $1 != "$2" ]]; then
        echo "expected: $1, got: $2"
        return 1
    fi
}
# install_package: installs it with its manual, which small systems leave out.
install_package() {
    dpkg --path-include='/usr/share/man/*' --install /mnt/pyxis.deb >/mnt/dpkg.log 2>&1 || { cat /mnt/dpkg.log; false; }
}
# ready: what the health check says.
ready() { pyxis healthcheck 2>&1 || true; }

# Or each installation would index the manual of the whole machine.
rm -f /var/lib/man-db/auto-update

echo "== install"
install_package
grep --quiet 'generated a new master key in /etc/pyxis/key' /mnt/dpkg.log
expect "root:pyxis 640" "$(stat --format '%U:%G %a' /etc/pyxis/key)"
expect "root:pyxis 640" "$(stat --format '%U:%G %a' /etc/pyxis/pyxis.env)"
expect "pyxis:pyxis 700" "$(stat --format '%U:%G %a' /var/lib/pyxis)"
expect inactive "$(systemctl is-active pyxis || true)"
# Pages are compressed, but in a package that was made fast.
for file in man/man1/pyxis.1 man/man1/pyxis-agent-add.1 bash-completion/completions/pyxis \
    zsh/vendor-completions/_pyxis fish/vendor_completions.d/pyxis.fish; do
    [[ -s /usr/share/$file || -s /usr/share/$file.gz ]] || { echo "/usr/share/$file is missing"; false; }
done
for file in packaging/prometheus/alerts.yaml packaging/grafana/pyxis.json docs/guides/back-up-restore-upgrade.md \
    docs/reference/configuration.md docs/reference/behavior/operations.md; do
    [[ -s /usr/share/doc/pyxis/$file || -s /usr/share/doc/pyxis/$file.gz ]] || { echo "doc/pyxis/$file is missing"; false; }
done
[[ $(zcat --force /usr/share/man/man1/pyxis-healthcheck.1*) == *'.SH OPTIONS'* ]]
# Completion is what a shell does with the script, not the script.
completed=$(bash -c '. /usr/share/bash-completion/completions/pyxis
    COMP_WORDS=(pyxis hea) COMP_CWORD=1; _pyxis pyxis hea pyxis; echo "${COMPREPLY[*]}"')
expect healthcheck "$completed"
systemd-analyze verify pyxis.service
# 0 is the best and 100 the worst. What counts is the network, which it needs.
systemd-analyze security --offline=true --threshold=15 --no-pager /lib/systemd/system/pyxis.service >/mnt/security.log ||
    { cat /mnt/security.log; false; }
echo "packaging: $(tail -n 1 /mnt/security.log | sed 's/^[^A-Z]*//')"

echo "== run"
key=$(pyxis-admin bootstrap --json --owner-email ana@example.org | grep -o '"agent_key":"[^"]*"' | cut -d'"' -f4)
systemctl start pyxis
expect ready "$(ready)"
expect 200 "$(curl --silent --output /dev/null --write-out '%{http_code}' --header "X-PX-Key: $key" \
    http://127.0.0.1:8700/agent/services)"
process=$(systemctl show --property MainPID --value pyxis)
expect pyxis "$(stat --format %U "/proc/$process")"
field() { sed -n "s/^$1:\s*//p" "/proc/$process/status"; }
expect "1 2 0000000000000000" "$(field NoNewPrivs) $(field Seccomp) $(field CapEff)"
expect pyxis "$(stat --format %U /var/lib/pyxis/pyxis.db)"

echo "== upgrade"
install_package
expect "" "$(grep 'master key' /mnt/dpkg.log || true)"
[[ $(systemctl show --property MainPID --value pyxis) != "$process" ]]
expect ready "$(ready)"

echo "== stop"
systemctl stop pyxis
expect success "$(systemctl show --property Result --value pyxis)"
[[ $(ready) == "not ready: http://127.0.0.1:8700: "* ]]
systemctl start pyxis

echo "== remove"
dpkg --remove pyxis
expect inactive "$(systemctl is-active pyxis || true)"
[[ ! -e /usr/bin/pyxis && ! -e /lib/systemd/system/pyxis.service && -e /etc/pyxis/pyxis.env ]]
dpkg --purge pyxis 2>&1 | tee /mnt/dpkg.log
grep --quiet 'kept /etc/pyxis/key and /var/lib/pyxis' /mnt/dpkg.log
[[ ! -e /etc/pyxis/pyxis.env && -e /etc/pyxis/key && -e /var/lib/pyxis/pyxis.db ]]
echo "packaging: the Debian package was installed, run, upgraded, stopped, removed and purged"
