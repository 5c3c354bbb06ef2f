#!/usr/bin/env bash
# machine.sh FOLDER: a copy of this machine in memory, on which FOLDER/inside.sh runs under a systemd of its own. FOLDER is
# /mnt in there. Ends with the status of inside.sh. Run it in new mount, process, cgroup, network, host name and IPC
# namespaces, which end with it.
set -euo pipefail

mount --make-rprivate /
layers=$1/layers
mkdir "$layers"
mount -t tmpfs tmpfs "$layers"
mkdir "$layers"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" "$layers/root"
cd "$layers/root"
mount -t proc proc proc
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount --rbind /dev dev
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount --bind "$1" mnt
ip link set lo up
# Not chroot: from inside one, the sandbox of a service cannot be made.
mkdir run/former
pivot_root . run/former
umount -l /run/former
# So that what systemd mounts for a service appears there.
mount --make-rshared /

# A container's refusal to start services does not hold here.
rm -f /usr/sbin/policy-rc.d
# Only the journal and what is under test.
: >/etc/fstab
rm -f /etc/systemd/system/*.wants/*
for wanted in /lib/systemd/system/*.target.wants/*; do
    case $wanted in
        */systemd-journald*) ;;
        *) rm -f "$wanted" ;;
    esac
done
cat >/etc/systemd/system/inside.service <<'END'
[Service]
Type=oneshot
ExecStart=/bin/bash /mnt/inside.sh
ExecStopPost=/bin/sh -c 'systemctl --no-block exit "$EXIT_STATUS"'
StandardOutput=file:/mnt/inside.log
StandardError=inherit
END
exec env -i container=px-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=inside.service --log-target=console
