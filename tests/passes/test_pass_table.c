/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of passes: what it promises of itself, and the page doc/hacking.md that quotes it (GCUT_BLESS=1
 * rewrites the quotation).
 */
#include "harness.h"

#include "driver/pipeline/pipeline.h"
#include "quotation.h"

typedef struct world {
    gcut_env *env;
    const char *wrong;
} world;
FIXTURE(world)

/* The rows before row i that are of the same pass. */
static uint32_t seen(uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < i; k++) n += !strcmp(gcut_passes.row[k].name, gcut_passes.row[i].name);
    return n;
}

static void rows_are_whole(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < gcut_passes.n; i++) {
        const gcut_pass_row *r = &gcut_passes.row[i];
        if ((r->each != NULL) == (r->run != NULL)) fail_msg("%s: one function is needed", r->name);
        if (!*r->help || strchr(r->help, '\n')) fail_msg("%s: the help is one line", r->name);
        if (i && r->makes < r[-1].makes) fail_msg("row %u, %s, is out of order", i, r->name);
        for (uint32_t k = 0; k < i; k++) {
            const gcut_pass_row *o = &gcut_passes.row[k];
            bool same = !strcmp(o->name, r->name);
            if (same != (o->letter == r->letter)) fail_msg("%s and %s: a letter a pass", o->name, r->name);
            if (same && o->optional != r->optional) fail_msg("%s is optional here and not there", r->name);
        }
    }
}

/* Every graph that a pass makes is verified: by its row, or by what the row calls. */
static void graphs_are_verified(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < gcut_passes.n; i++)
        if (gcut_passes.row[i].each && !gcut_passes.row[i].verify)
            fail_msg("%s has no verifier", gcut_passes.row[i].name);
}

static void words_are_the_optional_passes(void **state)
{
    (void)state;
    char words[512] = "";
    for (uint32_t i = 0; i < gcut_passes.n; i++) {
        if (!gcut_passes.row[i].optional || seen(i)) continue;
        if (*words) strcat(words, ", ");
        strcat(words, gcut_passes.row[i].name);
    }
    assert_string_equal(words, GCUT_OPTIONAL_PASSES);
}

/* ---- doc/hacking.md ---- */

/* Neighbours that were there before share a line. */
static void write_table(gcut_text *t)
{
    gcut_text_add(t, "| stage | pass | letter | what it does |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < gcut_passes.n; i++) {
        const gcut_pass_row *r = &gcut_passes.row[i];
        gcut_text_add(t, "| %s | %s", gcut_passes_stage(r->makes), r->name);
        gcut_text letters = {.arena = t->arena};
        gcut_text_add(&letters, "%c", r->letter);
        const bool again = seen(i) && r->optional;
        for (; again && i + 1 < gcut_passes.n && r[1].makes == r->makes && r[1].optional && seen(i + 1);
             r++, i++) {
            gcut_text_add(t, ", %s", r[1].name);
            gcut_text_add(&letters, ", %c", r[1].letter);
        }
        gcut_text_add(t, " | %s | %s%s |\n", letters.at, again ? "as above" : r->help,
                      r->optional && !again ? " (optional)" : "");
    }
}

static void quote(void *arg)
{
    world *w = arg;
    gcut_text t = {.arena = w->env->arena};
    write_table(&t);
    must_quote(w->env, "doc/hacking.md", "<!-- of driver/pipeline/pass_table.c, by test_pass_table -->\n",
               "<!-- end of the table -->\n", t.at);
}

static void page_quotes_the_table(void **state)
{
    world *w = *state;
    must(w->env, quote, w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(graphs_are_verified),
        cmocka_unit_test(words_are_the_optional_passes),
        WITH_FIXTURE(page_quotes_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
