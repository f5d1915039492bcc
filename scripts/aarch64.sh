#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# aarch64.sh [FOLDER]: what the cross build for aarch64 and its test need, on Debian: the cross compiler and qemu are
# installed with apt (as root or by sudo), BLIS for aarch64 is unpacked into FOLDER (build-aarch64/sysroot).  apt works in
# a folder of its own for that, so the system gets no foreign architecture.
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
sysroot=${1:-build-aarch64/sysroot}
library=$sysroot/usr/lib/aarch64-linux-gnu/blis-serial/libblis.a
[ ! -f "$library" ] || exit 0

mkdir -p "$sysroot"
sysroot=$(cd "$sysroot" && pwd)
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
get()
{
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User= -o Dir::State="$apt/state" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$apt/cache" "$@" >"$apt/log" 2>&1 || {
        cat "$apt/log" >&2
        exit 1
    }
}
echo "fetching: libblis-serial-dev for arm64"
cd "$apt"
get update
get download libblis-serial-dev
dpkg-deb -x libblis-serial-dev_*_arm64.deb "$sysroot"
