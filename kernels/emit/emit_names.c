/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of the user in emitted C; kernels/emit/emit_names.h has the rules.
 */
#include "kernels/emit/emit_names.h"

#include <ctype.h>
#include <string.h>

#include "kernels/emit/c_text.h"
#include "machine/lower/lowered.h"

/* Keywords of C up to C23 and of C++ up to C++20 and their other spellings: never the name of a member. */
static const char keywords[] =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
    "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq";

enum match { WORD, BEGINNING };

/* Is s a word of the list, or does it begin with one? */
static bool is_in(const char *list, enum match how, const char *s)
{
    for (const char *at = list; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (!strncmp(at, s, n) && (how == BEGINNING || !s[n])) return true;
        at += n;
    }
    return false;
}

/* May a header of C or POSIX define s as a macro without arguments (one with arguments does not touch a
 * member)?  Macros begin with a capital, or with an underscore as keywords of compilers do, except those that
 * the standards list: words of C, what GNU C calls its systems, and members of POSIX's structs, which have a
 * prefix for each header (POSIX.1-2008, 2.2.2). */
static bool may_be_macro(const char *s)
{
    return isupper((unsigned char)*s) ||
           is_in("basename complex errno linux math_errhandling noreturn stderr stdin stdout unix imaginary",
                 WORD, s) ||
           is_in("d_ h_ if msg_ n_ p_ s6_ s_ sa_ si_ ss_ sched_ sigev_ sival_ st_ un_", BEGINNING, s);
}

/* ---- members of NAME_io ---- */

static bool is_taken(const gcut_field *field, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(field[i].name, name) || !strcmp(field[i].alias, name)) return true;
    return false;
}

/* Names differ in the graph; those that fall together as C identifiers are told apart by a number. */
gcut_field *gcut_c_fields(const gcut_program *p)
{
    uint32_t n;
    gcut_arena *a = p->module->arena;
    const gcut_binding_info *b = gcut_program_bindings(p, &n);
    gcut_field *field = gcut_calloc(a, n + 1, sizeof *field);
    for (uint32_t i = 0; i < n; i++) {
        const char *base = gcut_c_name(a, b[i].name);
        if (b[i].role == GCUT_ROLE_grad) base = gcut_printf(a, "grad_%s", base);
        const char *name = base;
        for (uint32_t k = 1;; k++) {
            bool word = isdigit((unsigned char)*name) || *name == '_' || is_in(keywords, WORD, name);
            bool escaped = word || may_be_macro(name);
            field[i].name = escaped ? gcut_printf(a, "v_%s", name) : name;
            field[i].alias = escaped && !word ? name : "";
            if (!is_taken(field, i, field[i].name) &&
                (!*field[i].alias || !is_taken(field, i, field[i].alias)))
                break;
            name = gcut_printf(a, "%s_%u", base, k);
        }
    }
    return field;
}

/* ---- the step ---- */

/* Functions and types of our library, of C11's threads and atomics and of POSIX are called so.  */
const char *gcut_c_prefix(gcut_arena *a, const char *name)
{
    bool theirs = is_in("_ gcut gradcut posix_ pthread_", BEGINNING, name) ||
                  is_in("aio atomic cnd mtx sem", WORD, name);
    return theirs ? gcut_printf(a, "step_%s", name) : name;
}

bool gcut_c_is_free(const char *prefix, const char *s)
{
    size_t n = strlen(prefix);
    bool small = false;
    for (const char *c = s; *c; c++) small = small || islower((unsigned char)*c);
    return small && !is_in(keywords, WORD, s) && !is_in("_ gcut GCUT", BEGINNING, s) &&
           !(!strncmp(s, prefix, n) && s[n] == '_');
}
