/* SPDX-License-Identifier: MIT
 *
 * The values of a step: a table of their names, types and initial contents, that NAME.c brings, and what can
 * be done with it: shapes at the sizes of a plan, one buffer for all that training changes, its initial
 * contents, and a block of bytes that holds it.
 */
#ifndef GRADCUT_RT_VALUES_H
#define GRADCUT_RT_VALUES_H

#include <stdint.h>

#include "gradcut/rt_status.h"
#include "gradcut/version.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef enum gcut_rt_role {
    GCUT_RT_PARAM, /* learned */
    GCUT_RT_STATE, /* carried from step to step */
    GCUT_RT_RNG,   /* a key of random numbers */
    GCUT_RT_INPUT,
    GCUT_RT_COTAN, /* the derivative of the objective by a result; NULL is 1 for scalars */
    GCUT_RT_OUT,
    GCUT_RT_GRAD,
    GCUT_RT_SAVED /* of a backward graph compiled alone: what its forward graph saved */
} gcut_rt_role;

typedef enum gcut_rt_dtype {
    GCUT_RT_BOOL, /* a byte, 0 or 1 */
    GCUT_RT_I8,
    GCUT_RT_I16,
    GCUT_RT_I32,
    GCUT_RT_I64,
    GCUT_RT_U8,
    GCUT_RT_F16, /* f16 and bf16 as their bits */
    GCUT_RT_BF16,
    GCUT_RT_F32,
    GCUT_RT_F64
} gcut_rt_dtype;

/* "param", "f32" */
const char *gcut_rt_role_name(int role);
const char *gcut_rt_dtype_name(int dtype);
/* Bytes of an element; 0 for what is no dtype. */
int64_t gcut_rt_dtype_bytes(int dtype);

/* What a value holds before the first step. */
typedef enum gcut_rt_contents {
    GCUT_RT_CALLER,  /* the caller's business: inputs without data; of results, nothing */
    GCUT_RT_SPLAT,   /* number[0] everywhere */
    GCUT_RT_DENSE,   /* list[k] */
    GCUT_RT_NORMAL,  /* seed number[0], standard deviation number[1] */
    GCUT_RT_UNIFORM, /* seed number[0], from number[1] to number[2] */
    GCUT_RT_DRAWN,   /* not declared: as gradcut's own step draws it from its seed and the name.  Floats are
                      * normal, integers are number[0] <= i < number[1], random keys any */
    GCUT_RT_FILE     /* of the file `file` (`key` inside of it, or NULL), which the caller loads */
} gcut_rt_contents;

/* A row of the table: what is known before sizes are. */
typedef struct gcut_rt_row {
    const char *name; /* as in the model */
    uint8_t role, dtype, rank, contents;
    int64_t dim[8]; /* a size, or -1 - k for the size that depends on the plan's as number k */
    double number[3];
    const double *list;
    const char *file, *key;
} gcut_rt_row;

typedef struct gcut_rt_table {
    int n;                                    /* rows, in the order of the pointers of NAME_io */
    int64_t (*size)(const void *plan, int k); /* size number k */
    const gcut_rt_row *row;
} gcut_rt_table;

/* A value at the sizes of a plan. */
typedef struct gcut_rt_value {
    const gcut_rt_row *row;
    const char *name;
    int role, dtype, rank, contents;
    int64_t dim[8];
    int64_t bytes;  /* row-major and packed */
    int64_t offset; /* in the buffer of what persists, a multiple of 64; -1 for inputs, cotangents, results */
} gcut_rt_value;

/* What persists is what training goes on from: params, states and random keys.  io is a NAME_io, plan a
 * NAME_plan that init filled. */

/* Fills v[0] to v[n - 1], unless NULL; returns the bytes of a buffer that holds all that persists. */
int64_t gcut_rt_values(const gcut_rt_table *t, const void *plan, gcut_rt_value *v);
/* Points what persists into such a buffer, aligned to 64 bytes, each value at its offset. */
void gcut_rt_bind(const gcut_rt_table *t, const void *plan, void *buffer, void *io);
/* Writes the initial contents of what persists and is not NULL, the same bits as gradcut's own step with that
 * seed.  A GCUT_RT_FILE is left as it is; the first one is reported as GCUT_RT_EFILE when all the rest is
 * filled. */
gcut_rt_status gcut_rt_init_values(const gcut_rt_table *t, const void *plan, const void *io, uint64_t seed,
                                   gcut_rt_error *err);

/* A block is what persists as bytes, the same on every machine; integers are little-endian:
 *
 *   0   8  "GCUTSTEP"
 *   8   4  version of this layout, 1
 *   12  4  how many values there are
 *   16  8  bytes of the block
 *   24  8  checksum of all else: from 0xcbf29ce484222325, for each 8 bytes as an integer w in turn,
 *          c = (c ^ w) * 0x100000001b3, c = c ^ c >> 32
 *   32     for each value: bytes of its name, role, dtype and rank, 4 bytes each; its sizes, 8 bytes each;
 * its name and its elements in row-major order, each with zeros up to a multiple of 8 bytes
 */
int64_t gcut_rt_block_bytes(const gcut_rt_table *t, const void *plan);
/* Writes gcut_rt_block_bytes bytes to block, which has room for `bytes`.  GCUT_RT_ENULL for a pointer of what
 * persists, GCUT_RT_EBLOCK for too little room. */
gcut_rt_status gcut_rt_save(const gcut_rt_table *t, const void *plan, const void *io, void *block,
                            int64_t bytes, gcut_rt_error *err);
/* Reads the block into the values.  GCUT_RT_EBLOCK for bytes that are no block, or are damaged, cut short or
 * of another version, GCUT_RT_EOTHER for a block whose values are not those of this step at these sizes: then
 * nothing was written. */
gcut_rt_status gcut_rt_load(const gcut_rt_table *t, const void *plan, const void *io, const void *block,
                            int64_t bytes, gcut_rt_error *err);

/* GCUT_RT_EVERSION unless this library is of version `abi`. */
gcut_rt_status gcut_rt_expect_abi(int abi, gcut_rt_error *err);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
