# SPDX-License-Identifier: GPL-3.0-or-later
# Written by `gradcut help --completion bash`; tests/cli/test_completion.c compares.

# Sets COMPREPLY to what `compgen` with these options says of the word at the cursor.
_gradcut_reply()
{
    [[ $1 == -W ]] || compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}

_gradcut()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options='' files=''
    local commands='check show dot grad plan saved why mem fuse lint report diff certify frontier fit compile run bench prof crosscheck gradcheck import export ops cache calibrate'
    COMPREPLY=()
    case $COMP_CWORD:${COMP_WORDS[1]} in
    1:*) _gradcut_reply -W "$commands help --help --version"; return ;;
    2:help) _gradcut_reply -W "$commands"; return ;;
    esac
    # The '=' of --name=value is a word of its own; that of NAME=VALUE belongs to a value.
    if [[ $cur == '=' ]]; then
        cur=''
    elif [[ $prev == '=' ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
        [[ $prev == -* ]] || return
    fi
    case $prev in
    --wrt) return ;;
    --loss) return ;;
    --cotan) return ;;
    --optimizer) return ;;
    --policy) _gradcut_reply -W 'mincut save-all recompute-all torch sqrt every-2nd-matmul attention-only'; return ;;
    --lambda) return ;;
    --budget) _gradcut_reply -W 'min'; return ;;
    --saved-budget) return ;;
    --plan) _gradcut_reply -f; return ;;
    --save-dtype) _gradcut_reply -W 'bf16'; return ;;
    --machine) _gradcut_reply -f; return ;;
    --at) return ;;
    --fix) return ;;
    --save) return ;;
    --recompute) return ;;
    --threads) return ;;
    --dump) _gradcut_reply -d; return ;;
    --seed) return ;;
    --backend) _gradcut_reply -W 'compiled eager joint planned'; return ;;
    --without) _gradcut_reply -W 'gather fold cse merge dce algebra head products shifts loops refine sink localize'; return ;;
    --stage) _gradcut_reply -W 'primal joint split kernel memory'; return ;;
    --as) _gradcut_reply -W 'text c stablehlo'; return ;;
    --depth) return ;;
    --top) return ;;
    --match) return ;;
    --against) _gradcut_reply -f; return ;;
    --profile) _gradcut_reply -f; return ;;
    --why) return ;;
    --in) return ;;
    --train) return ;;
    --steps) return ;;
    --compare) _gradcut_reply -W 'eager unfused save-all planned'; return ;;
    --samples) _gradcut_reply -f; return ;;
    --out) _gradcut_reply -d; return ;;
    --weights) _gradcut_reply -f; return ;;
    --rename) return ;;
    --into) _gradcut_reply -f; return ;;
    --save-weights) _gradcut_reply -f; return ;;
    --tol) return ;;
    --rounds) return ;;
    --points) return ;;
    --svg) _gradcut_reply -f; return ;;
    --times) _gradcut_reply -f; return ;;
    --flame) _gradcut_reply -f; return ;;
    --max) return ;;
    -o | --output) _gradcut_reply -f; return ;;
    --explain-cost) return ;;
    --seconds) return ;;
    --model) _gradcut_reply -f; return ;;
    esac
    case ${COMP_WORDS[1]} in
    check) files='*.gcut' options='--fix --json --help -h' ;;
    show) files='*.gcut' options='--wrt --loss --cotan --forward --eval --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --unfused --no-algebra --without --keep-grads --stage --as --tree --levels --no-loc --all --top --match --time-passes --json --help -h' ;;
    dot) files='*.gcut' options='--wrt --loss --cotan --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --no-algebra --without --keep-grads --depth --time-passes --json --help -h' ;;
    grad) files='*.gcut' options='--wrt --loss --cotan --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --no-algebra --without --keep-grads --no-loc --time-passes --json --help -h' ;;
    plan) files='*.gcut' options='--wrt --loss --cotan --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --unfused --no-algebra --without --keep-grads --symbolic --all --top --match --output -o --explain-cost --certificate --time-passes --json --help -h' ;;
    saved) files='*.gcut' options='--wrt --loss --cotan --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --no-algebra --without --keep-grads --symbolic --all --top --match --time-passes --json --help -h' ;;
    why) files='*.gcut' options='--wrt --loss --cotan --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --no-algebra --without --keep-grads --time-passes --json --help -h' ;;
    mem) files='*.gcut' options='--wrt --loss --cotan --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --no-algebra --without --keep-grads --all --top --match --at-peak --map --against --svg --time-passes --json --help -h' ;;
    fuse) files='*.gcut' options='--wrt --loss --cotan --forward --eval --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --unfused --no-algebra --without --keep-grads --all --top --match --why --time-passes --json --help -h' ;;
    lint) files='*.gcut' options='--wrt --loss --cotan --forward --eval --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --unfused --no-algebra --without --keep-grads --all --top --match --time-passes --json --help -h' ;;
    report) files='*.gcut' options='--wrt --loss --cotan --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --no-algebra --without --keep-grads --against --profile --no-frontier --points --output -o --time-passes --json --help -h' ;;
    diff) files='*.json' options='--all --top --match --json --help -h' ;;
    certify) files='*.[gj]*' options='--wrt --loss --cotan --apart --optimizer --lambda --save-dtype --machine --at --fix --save --recompute --threads --no-algebra --without --keep-grads --time-passes --json --help -h' ;;
    frontier) files='*.gcut' options='--wrt --loss --cotan --apart --optimizer --lambda --thorough --save-dtype --machine --at --fix --save --recompute --threads --seed --no-algebra --without --keep-grads --in --samples --measure --rounds --points --csv --svg --output -o --time-passes --json --help -h' ;;
    fit) files='*.gcut' options='--wrt --loss --cotan --apart --optimizer --policy --lambda --budget --thorough --save-dtype --machine --at --fix --save --recompute --threads --no-algebra --without --keep-grads --max --output -o --time-passes --json --help -h' ;;
    compile) files='*.gcut' options='--wrt --loss --cotan --forward --eval --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --line --unfused --no-algebra --without --keep-grads --output -o --shared --time-passes --json --help -h' ;;
    run) files='*.gcut' options='--wrt --loss --cotan --forward --eval --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --seed --backend --f64 --unfused --no-algebra --without --keep-grads --in --steps --out --weights --rename --convert --partial --save-weights --time-passes --json --help -h' ;;
    bench) files='*.gcut' options='--wrt --loss --cotan --forward --eval --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --seed --unfused --no-algebra --without --keep-grads --in --steps --compare --samples --csv --time-passes --json --help -h' ;;
    prof) files='*.gcut' options='--wrt --loss --cotan --forward --eval --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --seed --unfused --no-algebra --without --keep-grads --all --top --match --in --steps --svg --times --flame --output -o --time-passes --json --help -h' ;;
    crosscheck) files='*.gcut' options='--wrt --loss --cotan --forward --eval --apart --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --seed --unfused --no-algebra --without --keep-grads --in --tol --passes --time-passes --json --help -h' ;;
    gradcheck) files='*.gcut' options='--wrt --loss --cotan --optimizer --policy --lambda --budget --thorough --saved-budget --plan --save-dtype --machine --at --fix --save --recompute --threads --dump --seed --no-algebra --without --in --tol --time-passes --json --help -h' ;;
    import) files='*.onnx' options='--loss --in --train --output -o --json --help -h' ;;
    export) files='*.gcut' options='--weights --rename --convert --partial --into --output -o --json --help -h' ;;
    ops) files='' options='--model --json --help -h' ;;
    cache) files='' options='--clear --json --help -h' ;;
    calibrate) files='' options='--threads --output -o --seconds --force --json --help -h' ;;
    esac
    if [[ $cur == -* ]]; then
        _gradcut_reply -W "$options"
    elif [[ $files ]]; then
        _gradcut_reply -f -X "!$files" -o plusdirs
    fi
} &&
    complete -F _gradcut gradcut
