/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of the user in emitted C; kernels/emit/emit_names.h has the rules.
 */
#include "kernels/emit/emit_names.h"

#include <ctype.h>
#include <string.h>

#include "base/c_names.h"
#include "kernels/emit/c_text.h"
#include "machine/lower/lowered.h"

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
            bool word = isdigit((unsigned char)*name) || *name == '_' || gcut_is_c_keyword(name);
            /* Every file of a program may read the header, and its own macros may begin with any capital. */
            bool escaped = word || isupper((unsigned char)*name) || gcut_may_be_c_macro(name);
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
    bool theirs = gcut_begins_with_word_of("_ gcut gradcut posix_ pthread_", name) ||
                  gcut_is_word_of("aio atomic cnd mtx sem", name);
    return theirs ? gcut_printf(a, "step_%s", name) : name;
}

bool gcut_c_is_free(const char *prefix, const char *s)
{
    size_t n = strlen(prefix);
    bool small = false;
    for (const char *c = s; *c; c++) small = small || islower((unsigned char)*c);
    return small && !gcut_is_c_keyword(s) && !gcut_begins_with_word_of("_ gcut GCUT", s) &&
           !(!strncmp(s, prefix, n) && s[n] == '_');
}
