/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The JSON reader: what the writer wrote comes back, and whatever is wrong is
 * named by place or path and leaks nothing.
 */
#include "harness.h"

#include <unistd.h>

#include "base/json.h"
#include "base/json_read.h"

/* An allocator that counts its blocks and fails the one that `left` names. */
typedef struct counted {
    long live, left;
} counted;

static void *count_alloc(void *user, void *block, size_t size)
{
    counted *c = user;
    if (!size) {
        c->live -= block != NULL;
        free(block);
        return NULL;
    }
    if (c->left == 0) return NULL;
    if (c->left > 0) c->left--;
    c->live += block == NULL;
    return realloc(block, size);
}

typedef struct job {
    counted count;
    gcut_env *env;
    gcut_arena *arena;
    const char *text;
    size_t n;
    const gcut_jnode *root;
    void (*look)(const struct job *j);
} job;

static int setup(void **state)
{
    job *j = calloc(1, sizeof *j);
    j->count.left = -1;
    j->env = gcut_env_new(count_alloc, &j->count);
    *state = j;
    return 0;
}

static int teardown(void **state)
{
    job *j = *state;
    gcut_env_free(j->env);
    long live = j->count.live;
    free(j);
    return live != 0;
}

static void body(void *arg)
{
    job *j = arg;
    j->arena = gcut_arena_new(j->env, j->env->arena);
    j->root = gcut_json_parse(j->arena, "plan.json", j->text, j->n);
    if (j->look) j->look(j);
}

static gcut_status parse(job *j, const char *text, size_t n)
{
    gcut_arena_free(j->arena);
    j->arena = NULL;
    j->root = NULL;
    gcut_diags_clear(j->env);
    j->text = text;
    j->n = n;
    return gcut_protect(j->env, body, j);
}

static void parses(job *j, const char *text)
{
    j->look = NULL;
    assert_int_equal(parse(j, text, strlen(text)), GCUT_OK);
}

/* ---- what is right ---- */

static void every_kind_comes_back(void **state)
{
    job *j = *state;
    parses(j, "{\"n\": null, \"t\": true, \"f\": false, \"i\": -9223372036854775808, \"r\": 0.1,\n"
              " \"s\": \"\\u00e9\\n\", \"a\": [1, [], {}], \"o\": {\"z\": 1, \"a\": 2}}");
    const gcut_jnode *r = j->root;
    gcut_jobject(r);
    assert_int_equal(gcut_jneed(r, "n")->kind, GCUT_JSON_NULL);
    assert_true(gcut_jbool(gcut_jneed(r, "t")));
    assert_false(gcut_jbool(gcut_jneed(r, "f")));
    assert_true(gcut_jint(gcut_jneed(r, "i")) == INT64_MIN);
    assert_true(gcut_jreal(gcut_jneed(r, "r")) == 0.1);
    assert_string_equal(gcut_jstr(gcut_jneed(r, "s")), "\xc3\xa9\n");
    assert_int_equal(gcut_jneed(r, "s")->n, 3);
    const gcut_jnode *a = gcut_jneed(r, "a"), *o = gcut_jneed(r, "o");
    assert_int_equal(gcut_jcount(a), 3);
    assert_true(gcut_jreal(gcut_jat(a, 0)) == 1);
    assert_int_equal(gcut_jcount(gcut_jat(a, 1)), 0);
    assert_int_equal(gcut_jat(a, 2)->n, 0);
    assert_string_equal(o->u.item[0].key, "z"); /* the order of the text */
    assert_string_equal(gcut_jpath(j->arena, &o->u.item[1]), "o.a");
    assert_string_equal(gcut_jpath(j->arena, gcut_jat(a, 1)), "a[1]");
    assert_string_equal(gcut_jpath(j->arena, r), "the text");
    assert_null(gcut_jget(r, "nothing"));
    parses(j, "7");
    assert_int_equal(gcut_jint(j->root), 7);
}

static const double reals[] = {0,      -0.0,    1e300,  5e-324,      0.1, 1 / 3.0,
                               1e-310, 1 / 7.0, -2.5e9, 4503599.627, 1e22};
#define NREALS (sizeof reals / sizeof *reals)

static void write_reals(void *arg)
{
    job *j = arg;
    gcut_text t = {.arena = j->env->arena};
    gcut_json w = {.out = &t};
    gcut_json_array(&w);
    for (size_t i = 0; i < NREALS; i++) gcut_json_real(&w, reals[i]);
    gcut_json_end(&w);
    j->text = t.at;
}

static void reals_round_trip(void **state)
{
    job *j = *state;
    must(j->env, write_reals, j);
    parses(j, j->text);
    for (uint32_t i = 0; i < NREALS; i++) assert_true(gcut_jreal(gcut_jat(j->root, i)) == reals[i]);
}

/* ---- what is wrong ---- */

static void text_that_is_not_json_is_named_by_place(void **state)
{
    job *j = *state;
    static const struct {
        const char *text;
        int line, col;
        const char *says;
    } bad[] = {
        {"", 1, 1, "not JSON"},
        {"{\"a\": }", 1, 7, "unexpected token"},
        {"{\n  \"a\": 1,\n  \"a\": 2}", 3, 5, "duplicate"},
        {"[1, 2", 1, 5, "']' expected"},
        {"[1] 2", 1, 5, "end of file expected"},
        {"[99999999999999999999]", 1, 21, "too big integer"},
        {"[1e999]", 1, 6, "real number overflow"},
        {"\"\\u0000\"", 1, 8, "\\u0000"},
        {"[\"\xff\"]", 1, 2, "unable to decode"},
        {"nul", 1, 3, "invalid token"},
        {"[NaN]", 1, 4, "invalid token"},
    };
    j->look = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(j, bad[i].text, strlen(bad[i].text)), GCUT_ESYNTAX);
        assert_int_equal(j->env->ndiags, 1);
        const gcut_diag *d = &j->env->diags[0];
        if (d->at.line != bad[i].line || d->at.col != bad[i].col || !strstr(d->message, bad[i].says))
            fail_msg("%s: line %d, col %d: %s", bad[i].text, d->at.line, d->at.col, d->message);
        assert_string_equal(d->at.file, "plan.json");
    }
}

static void nesting_is_bounded(void **state)
{
    job *j = *state;
    static char text[200001];
    j->look = NULL;
    for (size_t deep = GCUT_JSON_DEPTH; deep <= 100000;
         deep = deep == GCUT_JSON_DEPTH ? deep + 1 : deep * 10) {
        memset(text, '[', deep);
        memset(text + deep, ']', deep);
        assert_int_equal(parse(j, text, 2 * deep), deep == GCUT_JSON_DEPTH ? GCUT_OK : GCUT_ESYNTAX);
        if (deep == GCUT_JSON_DEPTH + 1) assert_non_null(strstr(j->env->diags[0].message, "nested deeper"));
    }
}

static const char plan[] = "{\"hash\": \"ab\", \"saved\": [{\"value\": \"h\", \"bytes\": 12, \"cost\": 1.5}, "
                           "{\"value\": \"\\ud83d\\ude00\", \"bytes\": \"12\", \"forced\": true}], "
                           "\"at\": {\"N\": 32}, \"none\": null}";

static void ask_bytes(const job *j)
{
    const gcut_jnode *saved = gcut_jneed(j->root, "saved");
    for (uint32_t i = 0; i < gcut_jcount(saved); i++) gcut_jint(gcut_jneed(gcut_jat(saved, i), "bytes"));
}
static void ask_missing(const job *j)
{
    gcut_jneed(gcut_jat(gcut_jneed(j->root, "saved"), 0), "type");
}
static void ask_root_key(const job *j)
{
    gcut_jneed(j->root, "lambda");
}
static void ask_string(const job *j)
{
    gcut_jstr(gcut_jneed(j->root, "none"));
}
static void ask_array(const job *j)
{
    gcut_jcount(gcut_jneed(j->root, "at"));
}
static void ask_object(const job *j)
{
    gcut_jget(gcut_jneed(j->root, "saved"), "x");
}
static void ask_int(const job *j)
{
    gcut_jint(gcut_jneed(gcut_jat(gcut_jneed(j->root, "saved"), 0), "cost"));
}
static void ask_bool(const job *j)
{
    gcut_jbool(gcut_jneed(gcut_jneed(j->root, "at"), "N"));
}
static void ask_real(const job *j)
{
    gcut_jreal(gcut_jneed(j->root, "hash"));
}

static void wrong_kinds_are_named_by_path(void **state)
{
    job *j = *state;
    static const struct {
        void (*look)(const job *);
        const char *says;
    } bad[] = {
        {ask_bytes, "plan.json: error: saved[1].bytes: expected an integer\n"},
        {ask_missing, "plan.json: error: saved[0]: the key 'type' is missing\n"},
        {ask_root_key, "plan.json: error: the text: the key 'lambda' is missing\n"},
        {ask_string, "plan.json: error: none: expected a string\n"},
        {ask_array, "plan.json: error: at: expected an array\n"},
        {ask_object, "plan.json: error: saved: expected an object\n"},
        {ask_int, "plan.json: error: saved[0].cost: expected an integer\n"},
        {ask_bool, "plan.json: error: at.N: expected true or false\n"},
        {ask_real, "plan.json: error: hash: expected a number\n"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TRY("case %zu", i);
        j->look = bad[i].look;
        assert_int_equal(parse(j, plan, sizeof plan - 1), GCUT_ESYNTAX);
        assert_int_equal(j->env->ndiags, 1);
        assert_string_equal(gcut_diag_text(j->env->arena, &j->env->diags[0]), bad[i].says);
    }
}

/* Every prefix, and every byte replaced, is refused or read; nothing else happens. */
static void garbled_text_is_refused_or_read(void **state)
{
    job *j = *state;
    static const char bytes[] = "\0\"\\{}[],:0-e\xff\xc3 \n";
    char text[sizeof plan];
    j->look = NULL;
    for (size_t n = 0; n < sizeof plan - 1; n++) assert_int_equal(parse(j, plan, n), GCUT_ESYNTAX);
    for (size_t i = 0; i < sizeof plan - 1; i++) {
        for (size_t k = 0; k < sizeof bytes - 1; k++) {
            memcpy(text, plan, sizeof plan);
            text[i] = bytes[k];
            gcut_status s = parse(j, text, sizeof plan - 1);
            assert_true(s == GCUT_OK || (s == GCUT_ESYNTAX && j->env->ndiags == 1));
        }
    }
}

/* The environment's own arena keeps what was quoted, so it dies with each attempt. */
static void any_allocation_may_fail(void **state)
{
    (void)state;
    long tries = 0;
    for (gcut_status s = GCUT_ENOMEM; s == GCUT_ENOMEM; tries++) {
        job j = {.count.left = -1, .look = ask_bytes};
        j.env = gcut_env_new(count_alloc, &j.count);
        j.count.left = tries;
        s = parse(&j, plan, sizeof plan - 1);
        assert_true(s == GCUT_ENOMEM || s == GCUT_ESYNTAX);
        j.count.left = -1;
        gcut_env_free(j.env);
        assert_int_equal(j.count.live, 0);
    }
    assert_true(tries > 5);
}

static void read_body(void *arg)
{
    job *j = arg;
    j->root = gcut_json_read(j->env->arena, j->text, j->n);
}

static void files_are_read(void **state)
{
    job *j = *state;
    char path[] = "/tmp/gcut_json_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, plan, sizeof plan - 1), sizeof plan - 1);
    close(fd);
    j->text = path;
    j->n = 10;
    assert_int_equal(gcut_protect(j->env, read_body, j), GCUT_EIO);
    gcut_diags_clear(j->env);
    j->n = 1 << 20;
    must(j->env, read_body, j);
    assert_string_equal(gcut_jstr(gcut_jneed(j->root, "hash")), "ab");
    unlink(path);
    assert_int_equal(gcut_protect(j->env, read_body, j), GCUT_EIO);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_kind_comes_back),
        TEST(reals_round_trip),
        TEST(text_that_is_not_json_is_named_by_place),
        TEST(nesting_is_bounded),
        TEST(wrong_kinds_are_named_by_path),
        TEST(garbled_text_is_refused_or_read),
        TEST(any_allocation_may_fail),
        TEST(files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
