/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The command lines of the C compiler and the linker.
 */
#include "driver/load/c_commands.h"

#include <string.h>

#include "driver/ctx.h"
#include "driver/load/install_paths.h"

void gcut_command_add(gcut_command *l, const char *word)
{
    char *copy = gcut_strndup(l->arena, word, strlen(word));
    if (l->n + 1 >= l->room)
        l->argv = gcut_vec_reserve(l->arena, l->argv, l->room, &l->room, sizeof *l->argv);
    l->argv[l->n++] = copy;
    l->argv[l->n] = NULL;
}

/* Splits at white space, without the quoting of a shell: s holds the compiler flags of a build. */
static void add_words(gcut_command *l, const char *s)
{
    while (*s) {
        size_t k = strcspn(s, " ");
        if (k) gcut_command_add(l, gcut_strndup(l->arena, s, k));
        s += k + (s[k] == ' ');
    }
}

const char *gcut_c_compiler(void)
{
    const char *cc = gcut_variable("GRADCUT_CC");
    return cc ? cc : GRADCUT_CC;
}

gcut_command gcut_compiler_command(gcut_arena *a)
{
    gcut_command l = {.arena = a};
    add_words(&l, gcut_c_compiler());
    return l;
}

static gcut_command begin(gcut_arena *a)
{
    const char *flags = gcut_variable("GRADCUT_STEP_FLAGS");
    gcut_command l = gcut_compiler_command(a);
    add_words(&l, flags ? flags : GRADCUT_STEP_FLAGS);
    add_words(&l, "-std=c17 -fPIC -fvisibility=hidden -pthread -w");
    return l;
}

gcut_command gcut_compile_command(gcut_arena *a, uint32_t part, const char *object)
{
    gcut_command l = begin(a);
    gcut_command_add(&l, "-pipe");
    gcut_command_add(&l, gcut_printf(a, "-I%s", gcut_install_paths_find(a).include_dir));
    if (part != GCUT_ALL_PARTS) gcut_command_add(&l, gcut_printf(a, "-DGCUT_RT_PART=%u", part));
    add_words(&l, "-x c -c - -o");
    gcut_command_add(&l, object);
    l.output = object;
    return l;
}

gcut_command gcut_link_command(gcut_arena *a, const char *const *object, uint32_t n, const char *shared,
                               bool load)
{
    gcut_command l = begin(a);
    add_words(&l, "-shared -o");
    gcut_command_add(&l, shared);
    l.output = shared;
    for (uint32_t i = 0; i < n; i++) gcut_command_add(&l, object[i]);
    gcut_install_paths at = gcut_install_paths_find(a);
    if (load && at.rt_shared) {
        gcut_command_add(&l, at.rt_shared);
    } else {
        gcut_command_add(&l, at.rt_library);
        gcut_command_add(&l, at.blis_library);
    }
    add_words(&l, "-Wl,--exclude-libs,ALL -lm");
    return l;
}
