/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts with tables.
 */
#include "driver/inspect/table_text.h"

typedef struct writing {
    gcut_env *env;
    void (*write)(const void *what, const gcut_table_options *o, gcut_text *out);
    const void *what;
    const gcut_table_options *given; /* of `size` bytes */
    size_t size;
} writing;

static void write_text(void *arg, gcut_text *out)
{
    const writing *j = arg;
    const gcut_table_options o = gcut_table_options_of(j->env, j->given, j->size);
    j->write(j->what, &o, out);
}

char *gcut_table_text(gcut_env *env,
                      void (*write)(const void *what, const gcut_table_options *o, gcut_text *out),
                      const void *what, const gcut_table_options *given, size_t size)
{
    return gcut_string_by(env, write_text, &(writing){env, write, what, given, size});
}
