/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names that C has taken.
 */
#include "base/c_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static bool is_in(const char *list, const char *s, bool begins)
{
    for (const char *at = list; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (!strncmp(at, s, n) && (begins || !s[n])) return true;
        at += n;
    }
    return false;
}

bool gcut_is_word_of(const char *list, const char *s)
{
    return is_in(list, s, false);
}

bool gcut_begins_with_word_of(const char *list, const char *s)
{
    return is_in(list, s, true);
}

bool gcut_is_c_keyword(const char *s)
{
    static const char keywords[] =
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
        "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
        "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
        "extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
        "nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
        "return short signed sizeof static static_assert static_cast struct switch template this "
        "thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using "
        "virtual void volatile wchar_t while xor xor_eq";
    return gcut_is_word_of(keywords, s);
}

/* Macros begin with a capital that no small letter follows, or with an underscore as keywords of compilers do, except I
 * and those that the standards list: words of C, what GNU C calls its systems, and members of POSIX's structs, which have a
 * prefix for each header (POSIX.1-2008, 2.2.2). */
bool gcut_may_be_c_macro(const char *s)
{
    if (isupper((unsigned char)*s)) return s[1] ? !islower((unsigned char)s[1]) : *s == 'I';
    return gcut_is_word_of(
               "basename complex errno i386 linux math_errhandling noreturn stderr stdin stdout unix "
               "imaginary",
               s) ||
           gcut_begins_with_word_of("_ d_ h_ if msg_ n_ p_ s6_ s_ sa_ si_ ss_ sched_ sigev_ sival_ st_ un_",
                                    s);
}
