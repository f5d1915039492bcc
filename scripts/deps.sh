#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# deps.sh [PACKAGE…]: installs what building and testing need, and the packages named, with apt (as root or by sudo).
# Does nothing when everything is there; on a system without apt it leaves the finding to cmake.
set -eu
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || exit 0

missing=
for package in gcc libc6-dev make cmake pkg-config libglpk-dev libblis-serial-dev libcmocka-dev libjansson-dev libprotobuf-c-dev protobuf-c-compiler libzip-dev "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# A cmake or gcc that came some other way will do.
for tool in gcc make cmake; do
    if command -v $tool >/dev/null; then missing=$(echo "$missing " | sed "s/ $tool / /"); fi
done
missing=$(echo $missing)
[ -n "$missing" ] || exit 0

root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "deps.sh: please install (as root): $missing" >&2
        exit 1
    }
    root=sudo
fi
echo "installing: $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install()
{
    # shellcheck disable=SC2086
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >"$log" 2>&1
}
# The lists of packages may be missing or too old.
install || { $root apt-get update -q >"$log" 2>&1 && install; } || {
    cat "$log" >&2
    exit 1
}
