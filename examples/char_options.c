/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The command line of char_gpt.
 */
#include "char_options.h"

#include "die.h"
#include "options.h"

enum { DEFAULT_STEPS = 2000 };
#define DEFAULTS                                                                                             \
    {                                                                                                        \
        .layers = 4, .heads = 4, .channels = 128, .context = 128, .batch = 8, .steps = -1, .every = 100,     \
        .seed = 1, .sample = 500, .lr = 3e-3, .lambda = 0.05, .policy = "mincut", .backend = "compiled"      \
    }

static const option options[] = {
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
    {"--policy", WORD, AT(policy), 0, "what to save: " GCUT_POLICIES " (mincut)"},
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

settings settings_parse(int argc, char **argv)
{
    settings s = DEFAULTS;
    options_parse(options, sizeof options / sizeof *options, &s, &s.file, "char_gpt [options] FILE", argc,
                  argv);
    if (!s.file) die("char_gpt: no file to train on; see --help");
    if (s.channels % s.heads)
        die("--heads %lld does not divide --channels %lld", (long long)s.heads, (long long)s.channels);
    if (s.steps < 0 && s.seconds <= 0) s.steps = DEFAULT_STEPS;
    return s;
}
