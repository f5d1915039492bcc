#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# names_test.sh GRADCUT SOURCE_DIR [emit]
#
# Names of the user in emitted C, and in the C of `show --as c`.  The names that could be in the way are asked of the compiler: every macro that the
# headers of C17 and POSIX and ours define under -std=c17, gnu17 and c++17, with the words of both languages.
# A model whose values, and one whose sizes have all these names, compile after all those headers; and so does a step
# of every name whose NAME_init, NAME_step, … a header declares.  emit: they are written and not compiled.
set -eu
gradcut=$1 source=$2 emit=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail()
{
    echo "names_test: $*" >&2
    exit 1
}

# ---- what there is ----

for header in assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg \
    stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype \
    aio arpa/inet cpio dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen monetary mqueue net/if \
    netdb netinet/in netinet/tcp nl_types poll pthread pwd regex sched search semaphore spawn strings sys/ipc sys/mman \
    sys/msg sys/resource sys/select sys/sem sys/shm sys/socket sys/stat sys/statvfs sys/time sys/times sys/types \
    sys/uio sys/un sys/utsname sys/wait syslog tar termios ulimit unistd utime utmpx wordexp; do
    printf '#if __has_include(<%s.h>)\n#include <%s.h>\n#endif\n' $header $header
done >system.h
echo '#include "gradcut/gradcut_rt.h"' | cat system.h - >all.h

posix=-D_POSIX_C_SOURCE=200809L
command -v g++ >/dev/null && cxx=c++17 || cxx=
words='alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile
    wchar_t while xor xor_eq _Alignas _Bool _Complex _Generic errno x'
{
    for std in c17 gnu17; do cc -std=$std $posix -I"$source/include" -dM -E all.h; done
    for std in $cxx; do g++ -x c++ -std=$std $posix -I"$source/include" -dM -E all.h; done
    cc -dM -E -x c /dev/null
    printf '#define %s\n' $words
} | sed -n 's/^#define \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p' | LC_ALL=C sort -u >names
[ "$(wc -l <names)" -gt 2000 ] || fail "only $(wc -l <names) macros were found"
for name in NAN I errno st_mtime class GCUT_RT_APART; do
    grep -qx $name names || fail "$name is none of the names"
done

# ---- values and sizes ----

# Is emitted C taken after every header?
takes() # FILE.c STANDARD...
{
    [ "$emit" != emit ] || return 0
    file=$1
    shift
    printf '#include "system.h"\n#include "%s"\n' "$file" >behind_headers.c
    for std; do
        case $std in *++*) compiler='g++ -x c++' ;; *) compiler=cc ;; esac
        $compiler -std=$std $posix -fsyntax-only -I"$source/include" behind_headers.c || fail "$file is no $std"
    done
}

awk 'BEGIN { printf "gcut 1\nfunc @NAN(" }
    { printf "%sinput %%%s: f32[2]", (NR > 1 ? ", " : ""), $1; name[NR] = $1 }
    END {
        print ") -> (out loss: f32[]) {"
        for (i = 1; i <= NR; i += 50) { # what is read, in bundles
            printf "  %%sum.%d = mul(%%%s, %%%s)\n", i, name[i], name[i]
            for (k = i + 1; k < i + 50 && k <= NR; k++) {
                printf "  %%sum.%d = mul(%%sum.%d, %%%s)\n", k, k - 1, name[k]
            }
            printf "  %%part.%d = sum(%%sum.%d)\n", i, k - 1
        }
        printf "  %%all.1 = add(%%part.1, %%part.51)\n"
        for (i = 101; i <= NR; i += 50) printf "  %%all.%d = add(%%all.%d, %%part.%d)\n", i, (i == 101 ? 1 : i - 50), i
        printf "  %%loss = neg(%%all.%d)\n  return %%loss\n}\n", i - 50
    }' names >values.gcut
"$gradcut" compile values.gcut --forward -o values >/dev/null
takes values.c c17 gnu17 $cxx
"$gradcut" show values.gcut --as c >calls.c
takes calls.c c17 gnu17

# They all get the same prefix: one in eight will do, and those in lower case.
grep -v __ names | awk 'NR % 8 == 0 || /^[a-z]/' >some
awk 'BEGIN { printf "gcut 1\nfunc @sizes[" }
    { printf "%s%s in 1..", (NR > 1 ? ", " : ""), $1; name[NR] = $1 }
    END {
        printf "]("
        for (i = 1; i <= NR; i++) printf "%sinput %%v%d: f32[%s]", (i > 1 ? ", " : ""), i, name[i]
        print ") -> (out loss: f32[]) {\n  %loss = sum(%v1)\n  return %loss\n}"
    }' some >sizes.gcut
"$gradcut" compile sizes.gcut --forward -o sizes >/dev/null
takes sizes.c gnu17 $cxx
"$gradcut" show sizes.gcut --as c >calls.c
takes calls.c gnu17

# ---- the step ----

{
    printf '%s\n' gcut gcut_rt gradcut gradcut_rt step stdio math class NAN linux
    {
        cc -std=gnu17 $posix -I"$source/include" -E all.h | tr -c 'A-Za-z0-9_' '\n'
        cat names
    } | sed -nE 's/^([A-Za-z_][A-Za-z0-9_]*)_(plan|io|init|forward|backward|step|entry|values|init_values|bind|block_bytes|save|load)$/\1/p'
} | LC_ALL=C sort -u >steps
grep -qx sem steps || fail "no header declares sem_init"
echo 'gcut 1
func @f[N in 1..](param %w: f32[3], input %x: f32[N, 3]) -> (out loss: f32[]) {
  %wb = broadcast(%w, shape=[N, 3], axes=[1])
  %p = mul(%x, %wb)
  %loss = mean(%p)
  return %loss
}' >one.gcut
while read -r name; do
    "$gradcut" compile one.gcut -o "$name" >/dev/null
    takes "$name.c" gnu17 $cxx
    rm "$name.c" "$name.h"
done <steps
echo "$(wc -l <names) names, $(wc -l <steps) steps"
