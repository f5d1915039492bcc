/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Command lines of the examples.
 */
#include "options.h"

#include <string.h>

#include "die.h"

static void print_usage(const option *table, size_t n, const char *usage, FILE *out)
{
    fprintf(out, "usage: %s\n", usage);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %-12s %s  %s\n", table[i].name, table[i].kind == FLAG ? "   " : "VAL", table[i].help);
}

static void set(void *settings, const option *o, const char *value)
{
    char *end = NULL;
    void *at = (char *)settings + o->at;
    if (o->kind == FLAG) {
        *(bool *)at = true;
        return;
    }
    if (!value) die("%s needs a value", o->name);
    if (o->kind == WORD) *(const char **)at = value;
    if (o->kind == WHOLE && ((*(int64_t *)at = strtoll(value, &end, 10)) < o->lo || *end || end == value))
        die("%s: not a whole number from %lld up: %s", o->name, (long long)o->lo, value);
    if (o->kind == REAL &&
        (!((*(double *)at = strtod(value, &end)) >= (double)o->lo) || *end || end == value))
        die("%s: not a number from %lld up: %s", o->name, (long long)o->lo, value);
}

void options_parse(const option *table, size_t n, void *settings, const char **operand, const char *usage,
                   int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < n && strcmp(argv[i], table[k].name)) k++;
        if (k < n && !strcmp(argv[i], "--help")) print_usage(table, n, usage, stdout), exit(0);
        if (k < n)
            set(settings, &table[k], table[k].kind == FLAG ? NULL : argv[++i]);
        else if (argv[i][0] == '-' || *operand)
            print_usage(table, n, usage, stderr), die("what is %s?", argv[i]);
        else
            *operand = argv[i];
    }
}

gcut_backend backend_of(const char *name)
{
    static const struct {
        const char *name;
        gcut_backend backend;
    } all[] = {{"eager", GCUT_BACKEND_EAGER},
               {"joint", GCUT_BACKEND_JOINT},
               {"planned", GCUT_BACKEND_PLANNED},
               {"compiled", GCUT_BACKEND_COMPILED}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name)) return all[i].backend;
    die("the backend is one of eager, joint, planned, compiled, not %s", name);
}
