#compdef gradcut
# SPDX-License-Identifier: GPL-3.0-or-later
# Written by `gradcut help --completion zsh`; tests/cli/test_completion.c compares.

_gradcut()
{
    local -a subcommands specs
    subcommands=(
        'check:parse, verify, and say what is in each function'
        'show:the canonical text of a stage'
        'dot:the graph for Graphviz, ops of a scope as one node, with what is saved and recomputed'
        'grad:the joint graph\: forward and gradients (show --stage joint)'
        'plan:what is saved and what is recomputed\: totals and tables'
        'saved:one line for each tensor saved for the backward graph'
        'why:why one value is saved or recomputed, and what the other way would cost'
        'mem:memory over the training step\: what is alive when, and who holds the peak'
        'fuse:kernels and what is in each, and why ops are not in one'
        'lint:what is probably not meant, or slower than it needs to be, with lines'
        'report:one page about a plan\: memory, who holds the peak, what is saved and why, kernels, the frontier'
        'diff:compare two plan files\: which values differ, and the difference in bytes and time'
        'certify:check the certificate of a plan file\: schedule, memory, time and bound'
        'frontier:the frontier of peak and time\: plans for every budget, and the policies beside them'
        'fit:the largest batch for which a plan keeps a budget, and the one with the best predicted rate'
        'compile:write the step as C (NAME.c and NAME.h) or as NAME.so'
        'run:execute the step on arrays from files, or on seeded ones'
        'bench:compile time, step time and its prediction, kernel class by kernel class'
        'prof:the measured time of each kernel\: a table, a trace for Perfetto, a picture'
        'crosscheck:run every backend on the same values and compare'
        'gradcheck:compare the gradients with central differences in f64'
        'import:an ONNX model as a graph, with its weights beside it'
        'export:the function as it is evaluated, with its weights, as an ONNX model'
        'ops:what is supported\: every op, or those of --model, by dtype; of an ONNX model, what can be imported'
        'cache:what is in the cache of compiled steps; --clear empties it'
        'calibrate:measure this machine and write the model that prices come from'
        'help:print the options of a command'
    )
    if ((CURRENT == 2)); then
        _describe -t commands command subcommands
        _arguments '--help[print the commands]' '--version[print the version]'
        return
    fi
    shift words
    ((CURRENT--))
    local subcommand=$words[1]
    if [[ $subcommand == help ]]; then
        ((CURRENT == 2)) && _describe -t commands command subcommands
        return
    fi
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('*--wrt=[differentiate by the parameters that match (repeatable)]:GLOB: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck|import) specs+=('--loss=[differentiate this scalar result; import: an expression over the model'\''s values, which becomes it]:NAME: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('*--cotan=[differentiate these results along cotangents of their types, y along dy (repeatable, comma list)]:NAME: ') ;; esac
    case $subcommand in (show|fuse|lint|compile|run|bench|prof|crosscheck) specs+=('--forward[no derivative]') ;; esac
    case $subcommand in (show|fuse|lint|compile|run|bench|prof|crosscheck) specs+=('--eval[no derivative, and evaluate: without dropout and updates, batch_norm by its running statistics]') ;; esac
    case $subcommand in (show|dot|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck) specs+=('--apart[forward and backward are called apart: what is saved is in a block of its own]') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--optimizer=[update the parameters too: '\''adamw(lr=3e-4)'\'', '\''sgd(lr=0.1)'\'']:TEXT: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--policy=[who decides what is saved]:NAME:(mincut save-all recompute-all torch sqrt every-2nd-matmul attention-only)') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--lambda=[price of a saved byte in ns; 0: the least recomputation by the cut'\''s prices]:NS: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--budget=[bytes that the peak of a training step may take: 200MiB, 1.5GiB, 64000000; min: the smallest found]:SIZE:(min)') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--thorough[under a budget, search again with each decision forced the other way, until no plan is better]') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--saved-budget=[bytes that may be saved for the backward graph, a size as above, or 0]:SIZE: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--plan=[replay this plan file, its policy and its price, instead of deciding]:FILE:_files') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--save-dtype=[f32 values may be saved rounded to this type]:TYPE:(bf16)') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--machine=[machine model for prices, or shipped]:FILE:_files') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('*--at=[size of a symbol, N=32,T=64 (repeatable)]:SYM=SIZE: ') ;; esac
    case $subcommand in (check|show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('*--fix=[make a symbol a constant of the graph, N=32,T=64 (repeatable); bench measures it beside the symbol]:SYM=SIZE: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('*--save=[values that must be saved (repeatable, comma list)]:%VALUE: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('*--recompute=[values that must be recomputed (repeatable, comma list)]:%VALUE: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck|calibrate) specs+=('--threads=[threads]:N: ') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--dump=[write what every pass makes into this folder]:DIR:_files -/') ;; esac
    case $subcommand in (frontier|run|bench|prof|crosscheck|gradcheck) specs+=('--seed=[seed of whatever is neither given nor declared, and of measured rounds]:N: ') ;; esac
    case $subcommand in (run) specs+=('--backend=[what runs the step]:NAME:(compiled eager joint planned)') ;; esac
    case $subcommand in (run) specs+=('--f64[the interpreted backends compute in f64]') ;; esac
    case $subcommand in (compile) specs+=('--line[debug info of the emitted C (#line) has the lines of the model]') ;; esac
    case $subcommand in (show|plan|fuse|lint|compile|run|bench|prof|crosscheck) specs+=('--unfused[every op is a kernel of its own, to compare with]') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--no-algebra[apply no identities of real numbers such as log(exp(x)) = x, which change rounding]') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('*--without=[leave these passes out (repeatable, comma list)]:PASS:(gather fold cse merge dce algebra head products shifts loops refine sink localize)') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck) specs+=('--keep-grads[gradients are results beside an optimizer too]') ;; esac
    case $subcommand in (show) specs+=('--stage=[stage to print]:NAME:(primal joint split kernel memory)') ;; esac
    case $subcommand in (show) specs+=('--as=[the text IR, C that builds the primal graph, or StableHLO of the stages primal, joint and split at the sizes of --at]:FORM:(text c stablehlo)') ;; esac
    case $subcommand in (show) specs+=('--tree[an outline instead: functions, scopes, ops, and which of these a gradient reaches]') ;; esac
    case $subcommand in (show) specs+=('--levels[instead what kernels could run side by side, and the critical path of those that depend on each other]') ;; esac
    case $subcommand in (dot) specs+=('--depth=[components of a scope that make a node]:D: ') ;; esac
    case $subcommand in (show|grad) specs+=('--no-loc[leave the locations out]') ;; esac
    case $subcommand in (plan|saved) specs+=('--symbolic[sizes as formulas of the symbols]') ;; esac
    case $subcommand in (show|plan|saved|mem|fuse|lint|diff|prof) specs+=('--all[a row for each value: rows whose names differ by numbers alone are folded otherwise]') ;; esac
    case $subcommand in (show|plan|saved|mem|fuse|lint|diff|prof) specs+=('--top=[rows of a table to print]:N: ') ;; esac
    case $subcommand in (show|plan|saved|mem|fuse|lint|diff|prof) specs+=('--match=[print only values whose names match: '\''block0.*'\'']:GLOB: ') ;; esac
    case $subcommand in (mem) specs+=('--at-peak[all that is alive at the peak, by class, by op and by source line]') ;; esac
    case $subcommand in (mem) specs+=('--map[every buffer of the arena: offset, bytes, first and last kernel]') ;; esac
    case $subcommand in (mem|report) specs+=('--against=[show the step of this plan file beside it]:FILE:_files') ;; esac
    case $subcommand in (report) specs+=('--profile=[show these measured times, what prof --json wrote for the same step, here or on another machine]:FILE:_files') ;; esac
    case $subcommand in (report) specs+=('--no-frontier[leave the frontier out, which takes the longest to make]') ;; esac
    case $subcommand in (fuse) specs+=('--why=[why the op that makes %A and the one that makes %B, which reads it, do not share a kernel]:%A %B: ') ;; esac
    case $subcommand in (frontier|run|bench|prof|crosscheck|gradcheck|import) specs+=('*--in=[value of a param, input, state or cotangent, a .npy file (repeatable); import: what an input holds of which sizes are made]:NAME=FILE: ') ;; esac
    case $subcommand in (import) specs+=('*--train=[initializers that become params; others become states (repeatable)]:GLOB: ') ;; esac
    case $subcommand in (run|bench|prof) specs+=('--steps=[number of training steps]:K: ') ;; esac
    case $subcommand in (bench) specs+=('--compare=[run these variants of the step in random order, --steps rounds; any policy is one]:LIST:(eager unfused save-all planned)') ;; esac
    case $subcommand in (frontier|bench) specs+=('--samples=[write every measured time as CSV too]:FILE:_files') ;; esac
    case $subcommand in (run) specs+=('--out=[write results and gradients as .npy into this folder]:DIR:_files -/') ;; esac
    case $subcommand in (run|export) specs+=('--weights=[begin with the parameters, states and keys of this file, .safetensors, .npz, .npy or .onnx]:FILE:_files') ;; esac
    case $subcommand in (run|export) specs+=('--rename=[names in the file of --weights and here: '\''model.*=*,lm_head=head.w'\'']:LIST: ') ;; esac
    case $subcommand in (run|export) specs+=('--convert[--weights, --into: floats of another dtype too, rounded]') ;; esac
    case $subcommand in (run|export) specs+=('--partial[--weights: what the file or the function lacks is no error]') ;; esac
    case $subcommand in (export) specs+=('--into=[instead of a new model, a copy of the one that FILE was imported from, with these weights]:M.onnx:_files') ;; esac
    case $subcommand in (run) specs+=('--save-weights=[write the parameters, states and keys after the last step as .safetensors, or as .npz if FILE ends so]:FILE:_files') ;; esac
    case $subcommand in (crosscheck|gradcheck) specs+=('--tol=[largest relative error that passes]:X: ') ;; esac
    case $subcommand in (crosscheck) specs+=('--passes[interpret the graph after each pass instead, up to the first that changes a result]') ;; esac
    case $subcommand in (frontier) specs+=('--measure[compile the plans and run them, in random order, for measured peaks and times]') ;; esac
    case $subcommand in (frontier) specs+=('--rounds=[runs of each plan]:N: ') ;; esac
    case $subcommand in (report|frontier) specs+=('--points=[plans to show, from the fastest to the smallest]:N: ') ;; esac
    case $subcommand in (frontier|bench) specs+=('--csv[print CSV; bench: of its classes of kernels and of the step]') ;; esac
    case $subcommand in (mem|frontier|prof) specs+=('--svg=[write the picture too]:FILE:_files') ;; esac
    case $subcommand in (prof) specs+=('--times=[the times of a step that was compiled ahead of time, by gcut_rt_write_times, instead of running one]:FILE:_files') ;; esac
    case $subcommand in (prof) specs+=('--flame=[write a flame graph too, an SVG: measured time by scope]:FILE:_files') ;; esac
    case $subcommand in (fit) specs+=('--max=[the symbol to enlarge, and a size that is not exceeded: N, N=4096]:SYM[=SIZE]: ') ;; esac
    case $subcommand in (plan|report|frontier|fit|compile|prof|import|export|calibrate) specs+=('(-o --output)-o+[compile, frontier: DIR/NAME to write; export: M.onnx; import: M.gcut, beside which M.safetensors is; plan, calibrate: a file for the JSON; prof: one for the trace; report: one for the page; fit: one for the plan at the largest size]:PATH:_files' '(-o --output)--output=[compile, frontier: DIR/NAME to write; export: M.onnx; import: M.gcut, beside which M.safetensors is; plan, calibrate: a file for the JSON; prof: one for the trace; report: one for the page; fit: one for the plan at the largest size]:PATH:_files') ;; esac
    case $subcommand in (plan) specs+=('--explain-cost=[instead of the plan, the terms of the predicted time of the kernels that compute this value]:VALUE: ') ;; esac
    case $subcommand in (plan) specs+=('--certificate[the JSON has what proves the plan'\''s claims, for certify]') ;; esac
    case $subcommand in (calibrate) specs+=('--seconds=[measure for so long; compiling comes before, up to a minute]:X: ') ;; esac
    case $subcommand in (calibrate) specs+=('--force[write the model of a busy machine too, with a note in it]') ;; esac
    case $subcommand in (compile) specs+=('--shared[write a shared object]') ;; esac
    case $subcommand in (ops) specs+=('--model=[only the ops of this file'\''s function]:FILE:_files') ;; esac
    case $subcommand in (cache) specs+=('--clear[remove every entry]') ;; esac
    case $subcommand in (show|dot|grad|plan|saved|why|mem|fuse|lint|report|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck) specs+=('--time-passes[print each pass, its wall time, and the nodes before and after it, to standard error]') ;; esac
    case $subcommand in (check|show|dot|grad|plan|saved|why|mem|fuse|lint|report|diff|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck|import|export|ops|cache|calibrate) specs+=('--json[print JSON]') ;; esac
    case $subcommand in (check|show|dot|grad|plan|saved|why|mem|fuse|lint|report|diff|certify|frontier|fit|compile|run|bench|prof|crosscheck|gradcheck|import|export|ops|cache|calibrate) specs+=('(-h --help)-h[print the options of a command]' '(-h --help)--help[print the options of a command]') ;; esac
    case $subcommand in
    check) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    show) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    dot) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    grad) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    plan) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    saved) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    why) specs+=('1:FILE:_files -g "*.gcut"' '2:VALUE: ' '3:@function: ') ;;
    mem) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    fuse) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    lint) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    report) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    diff) specs+=('1:FILE:_files -g "*.json"' '2:FILE:_files -g "*.json"') ;;
    certify) specs+=('1:FILE:_files -g "*.json"' '2:FILE:_files -g "*.gcut"' '3:@function: ') ;;
    frontier) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    fit) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    compile) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    run) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    bench) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    prof) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    crosscheck) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    gradcheck) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    import) specs+=('1:FILE:_files -g "*.onnx"' ) ;;
    export) specs+=('1:FILE:_files -g "*.gcut"' '2:@function: ') ;;
    esac
    _arguments -s $specs
}

_gradcut "$@"
