#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# plan_size.sh [GRADCUT…]: processor time and memory of the command against the size of the graph.
#
# Each row: shape, size n, command; processor time in s, user and system, the least of RUNS runs; the factor by which it
# grows for a graph four times as large, from the size before (4 = linear; none where both take less than 0.05 s); nodes
# of the joint graph; the largest resident set in MB; KB of it beyond 50 MB for each of these nodes.  Several builds of
# the command, before and after a change, get a table each.
#
#   SIZES (5000 20000 100000)   COMMANDS (check grad plan)   RUNS (1)   LIMIT (300), seconds until a run is given up
#   SHAPES (all)   KEEP   a folder for the graphs
#
# COMMANDS may name compile, too, and after plan `budget`: plan under three quarters of the peak that plan has stated.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- build/gradcut
for program; do [ -x "$program" ] || { echo "plan_size.sh: there is no $program" >&2; exit 1; }; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export GRADCUT_MACHINE=shipped GRADCUT_CACHE=off

graph() # SHAPE N: a function of about N nodes, or with N of what the shape is named after
{
    awk -v shape="$1" -v n="$2" '
    function open(params, results) { print "func @f(" params ") -> (" results ") {" }
    function close_(value) { print "  return " value "\n}" }
    function loss(value) { print "  %loss = sum(%" value ")"; close_("%loss") }
    BEGIN {
        print "gcut 1"
        matrix = "param %w: f32[64, 64], input %x: f32[64, 64]"
        scalar = "out loss: f32[]"
        if (shape == "chain") {          # each node reads the one before it
            open(matrix, scalar)
            v = "x"
            for (i = 0; i < n; i++) {
                k = i % 3
                print "  %v" i " = " (k == 0 ? "add(%" v ", %w)" : k == 1 ? "mul(%" v ", %w)" : "tanh(%" v ")")
                v = "v" i
            }
            loss(v)
        } else if (shape == "products") { # layers of a product and tanh
            open(matrix, scalar)
            v = "x"
            for (i = 0; i < n; i++) {
                print "  %v" i " = " (i % 2 ? "tanh(%" v ")" : "matmul(%" v ", %w)")
                v = "v" i
            }
            loss(v)
        } else if (shape == "residual") { # x + tanh(x w), over and over
            open(matrix, scalar)
            v = "x"
            for (i = 0; i < n / 3; i++) {
                print "  %m" i " = matmul(%" v ", %w)\n  %t" i " = tanh(%m" i ")\n  %v" i " = add(%" v ", %t" i ")"
                v = "v" i
            }
            loss(v)
        } else if (shape == "fan") {     # one value is read by n / 2 nodes, whose results are added
            open(matrix, scalar)
            print "  %a0 = tanh(%w)\n  %v = mul(%a0, %x)"
            for (i = 1; i < n / 2; i++)
                print "  %b" i " = " (i % 2 ? "exp" : "tanh") "(%v)\n  %c" i " = mul(%b" i ", %b" (i > 1 ? i - 1 : 1) ")\n  %a" i " = add(%a" i - 1 ", %c" i ")"
            loss("a" i - 1)
        } else if (shape == "summed") {  # n parameters in one sum
            p = "input %x: f32[8]"
            for (i = 0; i < n; i++) p = p ", param %w" i ": f32[8]"
            open(p, scalar)
            v = "x"
            for (i = 0; i < n; i++) { print "  %v" i " = add(%" v ", %w" i ")"; v = "v" i }
            loss(v)
        } else if (shape == "concat") {  # n parameters are the operands of one node
            for (i = 0; i < n; i++) { p = p (i ? ", " : "") "param %w" i ": f32[8]"; a = a "%w" i ", " }
            open(p, scalar)
            print "  %c = concat(" a "axis=0)\n  %t = tanh(%c)"
            loss("t")
        } else if (shape == "params") {  # n / 10 layers with parameters of their own
            p = "input %x: f32[16, 16]"
            for (i = 0; i < n / 10; i++) p = p ", param %w" i ": f32[16, 16], param %b" i ": f32[16]"
            open(p, scalar)
            v = "x"
            for (i = 0; i < n / 10; i++) {
                print "  %m" i " = matmul(%" v ", %w" i ")\n  %s" i " = broadcast(%b" i ", shape=[16, 16], axes=[1])"
                print "  %z" i " = add(%m" i ", %s" i ")\n  %v" i " = gelu(%z" i ")"
                v = "v" i
            }
            loss(v)
        } else if (shape == "results") { # n results
            r = scalar
            a = "%loss"
            for (i = 0; i < n; i++) { r = r ", out y" i ": f32[64, 64]"; a = a ", %y" i }
            open(matrix, r)
            for (i = 0; i < n; i++) print "  %y" i " = " (i % 2 ? "tanh(%y" i - 1 ")" : "mul(%" (i ? "y" i - 1 : "x") ", %w)")
            print "  %loss = sum(%y" i - 1 ")"
            close_(a)
        } else if (shape == "symbols") { # n symbols, each the size of an input
            for (i = 0; i < n; i++) { d = d (i ? ", " : "") "N" i " in 1.."; p = p ", input %x" i ": f32[N" i "]" }
            print "func @f[" d "](param %w: f32[4]" p ") -> (" scalar ") {"
            print "  %s = sum(%w)\n  %loss0 = mul(%s, %s)"
            for (i = 1; i < n / 10; i++) print "  %m" i " = sum(%x" i ")\n  %loss" i " = add(%loss" i - 1 ", %m" i ")"
            print "  %loss = mul(%loss" i - 1 ", %s)"
            close_("%loss")
        } else if (shape == "marks") {   # n remarks on one node
            open(matrix, scalar)
            printf "  %%y = mul(%%x, %%w)"
            for (i = 0; i < n; i++) printf " #note(\"%d\")", i
            print ""
            loss("y")
        } else if (shape == "functions") { # n functions, every tenth of which is called
            for (i = 0; i < n; i++) print "func @g" i "(input %x: f32[64, 64]) -> (out y: f32[64, 64]) {\n  %y = tanh(%x)\n  return %y\n}"
            open(matrix, scalar)
            print "  %v0 = mul(%x, %w)"
            for (i = 1; i < n / 10; i++) print "  %v" i " = call(@g" i ", %v" i - 1 ")"
            loss("v" i - 1)
        } else if (shape == "calls") {   # a binary tree of calls of n leaves, the next smaller power of two
            print "func @g0(input %x: f32[64, 64], input %w: f32[64, 64]) -> (out y: f32[64, 64]) {\n  %a = mul(%x, %w)\n  %y = tanh(%a)\n  return %y\n}"
            for (d = 1; 2 ^ d <= n / 2; d++) {
                print "func @g" d "(input %x: f32[64, 64], input %w: f32[64, 64]) -> (out y: f32[64, 64]) {"
                print "  %a = call(@g" d - 1 ", %x, %w)\n  %y = call(@g" d - 1 ", %a, %w)\n  return %y\n}"
            }
            open(matrix, scalar)
            print "  %y = call(@g" d - 1 ", %x, %w)"
            loss("y")
        } else if (shape == "bodies") {  # a loop with a long body
            open("param %w: f32[64], input %x: f32[64]", scalar)
            print "  %h = scan(%x, carries=1, length=8) body(%c) {"
            v = "c"
            for (i = 0; i < n / 4; i++) {
                print "    %v" i " = " (i % 2 ? "tanh(%" v ")" : "mul(%" v ", %w)")
                v = "v" i
            }
            print "    yield %" v "\n  }"
            loss("h")
        } else if (shape == "loops") {   # many loops, one after the other
            open("param %w: f32[64], input %x: f32[64]", scalar)
            v = "x"
            for (i = 0; i < n / 20; i++) {
                print "  %h" i " = scan(%" v ", carries=1, length=8) body(%c" i ") {"
                print "    %m" i " = mul(%c" i ", %w)\n    %t" i " = tanh(%m" i ")\n    yield %t" i "\n  }"
                v = "h" i
            }
            loss(v)
        } else if (shape == "nested") {  # branches in branches, 8 deep, one such nest after the other
            open("param %w: f32[64], input %x: f32[64], input %p: bool[]", scalar)
            v = "x"
            for (j = 0; j < n / 32; j++) {
                for (i = 0; i < 8; i++) {
                    print "  %a" j "." i " = mul(%" v ", %w)\n  %h" j "." i " = if(%p) then {"
                    v = "a" j "." i
                }
                print "  %t" j " = tanh(%" v ")"
                for (v = "t" j; i-- > 0; v = "h" j "." i) print "  yield %" v "\n  } else {\n  yield %a" j "." i "\n  }"
                v = "h" j ".0"
            }
            loss(v)
        } else if (shape == "shared") {  # each node reads the one before it and a value from the beginning
            open(matrix, scalar)
            print "  %e = exp(%w)"
            v = "x"
            for (i = 0; i < n / 2; i++) {
                print "  %m" i " = mul(%" v ", %e)\n  %v" i " = tanh(%m" i ")"
                v = "v" i
            }
            print "  %l = mul(%" v ", %e)"
            loss("l")
        } else {
            print "plan_size.sh: there is no shape " shape >"/dev/stderr"
            exit 1
        }
    }'
}

cpu() # COMMAND…: seconds and KB, of the quickest of the runs; its output is in $folder/out
{
    for run in $(seq "${RUNS:-1}"); do
        rc=0
        env time -q -f '%U %S %M' -o "$folder/time" sh -c 'ulimit -t "$0" && exec "$@"' "${LIMIT:-300}" "$@" \
            >"$folder/out" 2>"$folder/err" || rc=$?
        [ $rc = 0 ] || { echo "$rc 0"; return; }
        awk '{ print $1 + $2, $3 }' "$folder/time"
    done | sort -g | head -1
}

peak() # of the plan in $folder/out, in bytes
{
    sed -n 's/.*peak[^0-9]*\([0-9,]*\) bytes.*/\1/p' "$folder/out" | tr -d , | head -1
}

row() # SHAPE N COMMAND SECONDS KB NODES: adds the growth since the size before
{
    key=$folder/last.$1.$3
    [ -f "$key" ] || echo "0 0" >"$key"
    awk -v shape="$1" -v n="$2" -v command="$3" -v s="$4" -v kb="$5" -v nodes="$6" '{
        if (kb == 0) { printf "%-9s %7d %-7s %8s\n", shape, n, command, s > 128 ? "> limit" : "fails"; exit }
        growth = $1 > 0 && (s >= 0.05 || $2 >= 0.05) ? sprintf("%.1f", exp(log((s + 1e-3) / ($2 + 1e-3)) / log(n / $1) * log(4))) : ""
        more = nodes > 0 && kb > 50000 ? sprintf("%.1f", (kb - 50000) / nodes) : ""
        printf "%-9s %7d %-7s %8.2f %6s %8d %7.0f %5s\n", shape, n, command, s, growth, nodes, kb / 1000, more
    }' "$key"
    [ "$5" = 0 ] || echo "$2 $4" >"$key"
}

for program; do
    rm -f "$folder"/last.*
    echo "$program"
    printf '%-9s %7s %-7s %8s %6s %8s %7s %5s\n' shape n command s growth nodes MB KB/node
    for shape in ${SHAPES:-chain products residual shared fan summed params concat results symbols marks functions calls \
        bodies loops nested}; do
        for n in ${SIZES:-5000 20000 100000}; do
            file=${KEEP:-$folder}/$shape.$n.gcut
            graph "$shape" "$n" >"$file"
            nodes=0
            for command in ${COMMANDS:-check grad plan}; do
                case $command in
                budget) budget=$(peak); set -- plan "$file" --budget "$((budget / 4 * 3))" ;;
                compile) set -- compile "$file" -o "$folder/step" ;;
                *) set -- "$command" "$file" ;;
                esac
                measured=$(cpu "$program" "$@")
                [ "$command" != grad ] || nodes=$(grep -c '^ *%.* = ' "$folder/out" || true)
                # shellcheck disable=SC2086 # two words
                row "$shape" "$n" "$command" $measured "$nodes"
            done
            [ -n "${KEEP:-}" ] || rm -f "$file"
        done
    done
done
