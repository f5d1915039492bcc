#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# nightly.sh RUN FOLDER: GCUT_GRAPHS (10000) random graphs from GCUT_SEED (0) on through every backend, in pieces
# of 20, one piece per core at a time.  FOLDER remembers the pieces that passed, so a run that was interrupted goes on
# where it was, and one that failed tries only what failed; remove FOLDER to start again.
#
# Each graph that fails is printed with its seed, and what it said stays in FOLDER/SEED.log.
set -u
program=$1
folder=$2
from=${GCUT_SEED:-0}
n=${GCUT_GRAPHS:-10000}
mkdir -p "$folder"
export program folder

# A build of other sources has passed nothing.
id=$(cksum <"$program")
[ "$(cat "$folder/program" 2>/dev/null)" = "$id" ] || rm -f "$folder"/*.log "$folder"/*.passed
echo "$id" >"$folder/program"

# piece SEED N: all at once, then, if that fails, each by itself, so that one that dies is known too
piece='
    [ "$(cat "$folder/$0.passed" 2>/dev/null)" = "$1" ] && exit 0
    if GCUT_SEED=$0 GCUT_GRAPHS=$1 "$program" test_graphs 0 1 >/dev/null 2>&1; then
        echo "$1" >"$folder/$0.passed"
        exit 0
    fi
    i=$0
    while [ "$i" -lt $(($0 + $1)) ]; do
        log=$folder/$i.log
        GCUT_SEED=$i GCUT_GRAPHS=1 "$program" test_graphs 0 1 >"$log" 2>&1
        status=$?
        if [ "$status" = 0 ]; then
            rm "$log"
        else
            grep -q "^graph $i is:" "$log" || "$program" test_graphs show "$i" >>"$log" 2>&1
            echo "== graph $i failed with status $status"
            cat "$log"
        fi
        i=$((i + 1))
    done
    exit 0
'
rm -f "$folder"/*.log
i=$from
while [ "$i" -lt $((from + n)) ]; do
    size=$((from + n - i))
    [ "$size" -gt 20 ] && size=20
    echo "$i $size"
    i=$((i + 20))
done | xargs -P "${GCUT_JOBS:-$(nproc)}" -L 1 nice sh -c "$piece"

set -- "$folder"/*.log
if [ -e "$1" ]; then
    echo "$# of $n graphs failed:"
    for log; do basename "$log" .log; done
    exit 1
fi
echo "$n graphs passed"
