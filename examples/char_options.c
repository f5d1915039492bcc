/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The command line of char_gpt.
 */
#include "char_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "die.h"

enum { DEFAULT_STEPS = 2000 };
#define DEFAULTS                                                                                             \
    {                                                                                                        \
        .layers = 4, .heads = 4, .channels = 128, .context = 128, .batch = 8, .steps = -1, .every = 100,     \
        .seed = 1, .sample = 500, .lr = 3e-3, .lambda = 0.05, .policy = "mincut", .backend = "compiled"      \
    }

static const struct option {
    const char *name;
    enum { WHOLE, REAL, WORD, FLAG } kind;
    size_t at;
    int64_t lo; /* smallest allowed */
    const char *help;
} options[] = {
#define AT(field) offsetof(settings, field)
    {"--layers", WHOLE, AT(layers), 1, "blocks (4)"},
    {"--heads", WHOLE, AT(heads), 1, "attention heads, a divisor of the channels (4)"},
    {"--channels", WHOLE, AT(channels), 1, "width of the residual stream (128)"},
    {"--context", WHOLE, AT(context), 1, "characters the model sees (128)"},
    {"--batch", WHOLE, AT(batch), 1, "windows per step (8)"},
    {"--steps", WHOLE, AT(steps), 0, "training steps (2000, or until --seconds are over)"},
    {"--seconds", REAL, AT(seconds), 0, "stop then; with --steps too, whichever comes first"},
    {"--every", WHOLE, AT(every), 1, "steps per line of output (100)"},
    {"--lr", REAL, AT(lr), 0, "highest learning rate (3e-3)"},
    {"--seed", WHOLE, AT(seed), 0, "of weights, windows and sample (1)"},
    {"--threads", WHOLE, AT(threads), 0, "0: OMP_NUM_THREADS, else every core (0)"},
    {"--policy", WORD, AT(policy), 0, "what to save: mincut, save-all, recompute-all (mincut)"},
    {"--lambda", REAL, AT(lambda), 0, "price of a saved byte in ns (0.05)"},
    {"--backend", WORD, AT(backend), 0, "eager, joint, planned, compiled (compiled)"},
    {"--sample", WHOLE, AT(sample), 0, "characters to write at the end (500)"},
    {"--table", FLAG, AT(table), 0, "print the plan and the table of saved tensors, then stop"},
    {"--dump-gcut", WORD, AT(dump_gcut), 0, "write the graph as text to this file"},
    {"--dump-run", WORD, AT(dump_run), 0,
     "write initial weights, batches, rates and losses into this folder"},
    {"--help", FLAG, AT(help), 0, "this"},
#undef AT
};
enum { NOPTIONS = sizeof options / sizeof *options };

static void usage(FILE *out)
{
    fputs("usage: char_gpt [options] FILE\n", out);
    for (int i = 0; i < NOPTIONS; i++)
        fprintf(out, "  %-12s %s  %s\n", options[i].name, options[i].kind == FLAG ? "   " : "VAL",
                options[i].help);
}

static void set(settings *s, const struct option *o, const char *value)
{
    char *end = NULL;
    void *at = (char *)s + o->at;
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

settings settings_parse(int argc, char **argv)
{
    settings s = DEFAULTS;
    for (int i = 1; i < argc; i++) {
        int k = 0;
        while (k < NOPTIONS && strcmp(argv[i], options[k].name)) k++;
        if (k < NOPTIONS)
            set(&s, &options[k], options[k].kind == FLAG ? NULL : argv[++i]);
        else if (argv[i][0] == '-' || s.file)
            usage(stderr), die("char_gpt: what is %s?", argv[i]);
        else
            s.file = argv[i];
    }
    if (s.help) usage(stdout), exit(0);
    if (!s.file) usage(stderr), die("char_gpt: no file to train on");
    if (s.channels % s.heads)
        die("--heads %lld does not divide --channels %lld", (long long)s.heads, (long long)s.channels);
    if (s.steps < 0 && s.seconds <= 0) s.steps = DEFAULT_STEPS;
    return s;
}
