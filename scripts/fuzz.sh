#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# fuzz.sh [SECONDS [READER…]]: fuzzes each reader of files (text npy npz safetensors onnx plan machine certificate
# profile) for SECONDS (600), one after the other, at low priority.  build-fuzz/corpus/READER keeps what was found from
# run to run; what fails is left in build-fuzz/failed/READER-… and is to become a test.  Needs clang.
# GRADCUT_FUZZ_BUILD names another build folder.
set -eu
cd "$(dirname "$0")/.."
build=${GRADCUT_FUZZ_BUILD:-build-fuzz}
seconds=${1:-600}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- text npy npz safetensors onnx plan machine certificate profile
[ -d "$build" ] || cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target fuzz gradcut_cli
mkdir -p "$build/failed"

# Seeds: what the tests have, and what the command writes.
command=$build/gradcut
seed_text() { for f in tests/corpus/*.gcut tests/regress/*.gcut examples/*.gcut; do cp "$f" "$1/$(echo "$f" | tr / _)"; done; }
seed_npy()
{
    printf 'gcut 1\nfunc @s(param %%a: f32[3, 2], param %%b: f64[], param %%c: f16[0, 4]) -> (out loss: f32[], out p: bool[3, 2], out i: i64[3]) {\n%%loss = sum(%%a) %%p = gt(%%a, %%a) %%i = argmax(%%a, axis=1) return %%loss, %%p, %%i\n}\n' >"$1/seed.gcut"
    "$command" run "$1/seed.gcut" --backend eager --out "$1" >/dev/null
    rm "$1/seed.gcut"
    rm -rf "$1"/*.d
}
seed_npz()
{
    for model in examples/mlp.gcut tests/loops/rnn.gcut; do
        "$command" run "$model" --backend eager --optimizer 'adamw(lr=0.1)' \
            --save-weights "$1/$(basename "$model" .gcut).npz" >/dev/null
    done
    cp tests/corpus/*.npz "$1"
}
seed_safetensors()
{
    for model in examples/mlp.gcut tests/corpus/mlp_bf16.gcut tests/loops/rnn.gcut; do
        "$command" run "$model" --backend eager --optimizer 'adamw(lr=0.1)' \
            --save-weights "$1/$(basename "$model" .gcut).safetensors" >/dev/null
    done
}
# Small models of ONNX's conformance suite, where Debian's libonnx-testdata is installed, and of the tests.
seed_onnx()
{
    for model in /usr/share/libonnx-testdata/data/*/*/model.onnx; do
        [ -f "$model" ] && [ "$(wc -c <"$model")" -le 4096 ] &&
            cp "$model" "$1/$(basename "$(dirname "$model")").onnx"
    done
    cp examples/digits.onnx tests/corpus/*.onnx "$1"
}
seed_plan()
{
    cp tests/plans/*.json "$1"
    for policy in mincut save-all recompute-all; do
        "$command" plan tests/plans/six.gcut --policy $policy --json >"$1/six_$policy.json"
        "$command" plan tests/corpus/loops.gcut --policy $policy --json >"$1/loops_$policy.json" || true
    done
}
seed_certificate()
{
    for how in '' '--budget min' '--apart' '--save %h'; do
        # shellcheck disable=SC2086
        "$command" plan tests/plans/six.gcut $how --certificate --json >"$1/six$(echo "$how" | tr -d ' %').json"
    done
}
seed_profile() { "$command" prof examples/mlp.gcut --at N=4 --steps 2 --json >"$1/mlp.json" 2>/dev/null; }
seed_machine() { GCUT_FUZZ_SEED=$1/shipped.json "$build/fuzzed/fuzz_machine" -runs=0 >/dev/null 2>&1; }

status=0
for reader; do
    corpus=$build/corpus/$reader
    mkdir -p "$corpus"
    rm -rf "$build/seeds"
    mkdir -p "$build/seeds"
    "seed_$reader" "$build/seeds"
    echo "== $reader"
    nice -n 19 "$build/fuzzed/fuzz_$reader" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
        -print_final_stats=1 -verbosity=0 -artifact_prefix="$build/failed/$reader-" "$corpus" "$build/seeds" || status=1
done
exit $status
