#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# readme_test.sh: the commands of README.md and doc/embedding.md that begin with `cc` or `gradcut compile model.gcut`
# run as they stand, in a folder that looks like the tree, and so do the programs that they make; so do README's
# commands on examples/ and gpt2.gcut, which are its other two jobs.
. "$SOURCE/tests/install/common.sh"
command -v pkg-config >/dev/null || skip "no pkg-config"
unset GRADCUT_INCLUDE_DIR GRADCUT_RT_LIBRARY GRADCUT_BLIS_LIBRARY
install_moved
ln -s "$SOURCE/include" include
ln -s "$BUILD" build
cp "$here/net.gcut" model.gcut
export PATH="$prefix/bin:$PATH" PKG_CONFIG_PATH="$prefix/$LIBDIR/pkgconfig"

# The first program that README.md prints.
sed -n '/^```c$/,/^```$/p' "$SOURCE/README.md" | sed -e 1d -e '/^```$/q' | sed '$d' >train.c
grep -q '^int main' train.c || fail "README.md has no program"
cat >main.c <<'END'
#include "step.h"

int main(void)
{
    step_plan plan;
    gcut_rt_error e;
    return step_init(&plan, 8, 0, &e) != GCUT_RT_OK || plan.head.arena_bytes <= 0;
}
END

for page in README.md doc/embedding.md; do
    programs=0
    # A command that goes on in the next line is one.
    sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' "$SOURCE/$page" |
        grep -E '^(cc|gradcut compile model\.gcut) ' >commands || fail "$page has no commands"
    while IFS= read -r command; do
        rm -f train main
        quietly sh -c "$command"
        for program in train main; do
            [ -x $program ] || continue
            quietly ./$program
            programs=$((programs + 1))
        done
    done <commands
    # From the tree and from a prefix, at least.
    [ "$programs" -ge 2 ] || fail "$page makes $programs programs"
done

ln -s "$SOURCE/examples" examples
sed 's/ *#.*//' "$SOURCE/README.md" |
    grep -E '^(build/examples/zoo gpt2 --dump|gradcut (why|plan|frontier) (examples/|gpt2))' >commands
for job in why 'plan .* -o' 'plan .* --plan' 'plan .* --recompute' 'plan .* --budget' 'frontier .* --svg' 'frontier .* --measure'; do
    grep -qE "^gradcut $job" commands || fail "README.md has no command 'gradcut $job'"
done
while IFS= read -r command; do quietly sh -c "$command"; done <commands
grep -q '<svg' frontier.svg || fail "no picture"
