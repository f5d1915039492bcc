/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What tests of readers of files share: a file, by its path or by its bytes, and an environment that reads it, whose
 * memory is counted.
 */
#ifndef GCUT_TESTS_FILE_JOB_H
#define GCUT_TESTS_FILE_JOB_H

#include "count_memory.h"
#include "graph/graph.h"
#include "harness.h"
#include "import/tensor_file.h"

typedef struct job {
    gcut_env *env;         /* that reads the file */
    memory_counter memory; /* of env */
    gcut_env *own;         /* of the test: where files are made */
    gcut_arena *a;         /* of own */
    const char *called;    /* the file's name in diagnostics, unless it has a path */
    const char *path;      /* NULL: the file is in memory, */
    const char *bytes;     /* here */
    size_t size;
    /* Of a file of tensors: what is read of it; the tensor to look up, the dtype and the place to copy it to; what is
     * written. */
    gcut_tensor_file *file;
    const char *name;
    gcut_dtype to;
    void *at;
    gcut_tensors tensors;
    /* Of a model: what it is imported as. */
    gcut_graph *graph;
} job;

/* Continues with a new environment, of which no memory is counted yet. */
static inline void renew(job *j)
{
    gcut_env_free(j->env);
    assert_int_equal(j->memory.now, 0);
    j->memory = (memory_counter){0};
    j->env = gcut_env_new(count_memory, &j->memory);
    assert_non_null(j->env);
}

static inline int start_job(void **state, const char *called)
{
    job *j = calloc(1, sizeof *j);
    *state = j;
    j->called = called;
    j->own = gcut_env_new(NULL, NULL);
    j->a = j->own->arena;
    renew(j);
    return 0;
}

static inline int teardown(void **state)
{
    job *j = *state;
    gcut_env_free(j->env);
    assert_int_equal(j->memory.now, 0);
    gcut_env_free(j->own);
    free(j);
    return 0;
}

/* As FIXTURE of harness.h: cmocka's state is a job for a file of that name. */
#define FILE_FIXTURE(called)                                                                                 \
    static int setup(void **state)                                                                           \
    {                                                                                                        \
        return start_job(state, called);                                                                     \
    }

/* Reads a file of tensors. */
static inline void read_body(void *arg)
{
    job *j = arg;
    j->file = j->path ? gcut_tensor_file_open(j->env->arena, j->path)
                      : gcut_tensor_file_parse(j->env->arena, j->called, j->bytes, j->size);
}

/* Runs a body that may succeed; where it does not, there is one diagnostic. */
static inline gcut_status attempt(job *j, void (*body)(void *))
{
    const gcut_status status = gcut_protect(j->env, body, j);
    assert_int_equal(j->env->ndiags, status != GCUT_OK);
    gcut_diags_clear(j->env);
    return status;
}

/* Runs the body on the bytes of j again and again, each time with another request for memory refused, until it makes fewer
 * requests than that.  Returns how often it ran. */
static inline long refuse_each_request(const job *j, void (*body)(void *))
{
    long runs = 0;
    for (gcut_status status = GCUT_ENOMEM; status != GCUT_OK;) {
        job k = {.called = j->called, .bytes = j->bytes, .size = j->size, .memory = {.refused = ++runs}};
        k.env = gcut_env_new(count_memory, &k.memory);
        if (!k.env) continue;
        status = gcut_protect(k.env, body, &k);
        assert_true(status == GCUT_OK || status == GCUT_ENOMEM);
        gcut_env_free(k.env);
        assert_int_equal(k.memory.now, 0);
    }
    return runs;
}

#endif
