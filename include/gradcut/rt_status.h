/* SPDX-License-Identifier: MIT
 *
 * What went wrong in a compiled step.
 */
#ifndef GRADCUT_RT_STATUS_H
#define GRADCUT_RT_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef enum gcut_rt_status {
    GCUT_RT_OK,
    GCUT_RT_ENULL,    /* a pointer that the step needs is null */
    GCUT_RT_EDIM,     /* a size is outside of its declaration, or a checked equality fails */
    GCUT_RT_EALIGN,   /* a buffer is not aligned to its element, the arena not to 64 bytes */
    GCUT_RT_EOVERLAP, /* the arena overlaps a bound buffer, or one that the step writes overlaps another */
    GCUT_RT_EINDEX,   /* an index is outside of the axis it indexes */
    GCUT_RT_EFILE,    /* initial contents are in a file, which the caller is to load */
    GCUT_RT_EBLOCK,   /* bytes are no block of values, or damaged; a block of saved values is not
                         what a backward call needs */
    GCUT_RT_EOTHER,   /* a block of values is of another step, or of other sizes */
    GCUT_RT_EVERSION  /* the step was written for another version of this library */
} gcut_rt_status;

/* What went wrong, for a message; filled by every failing call that is given one. */
typedef struct gcut_rt_error {
    gcut_rt_status status;
    const char *what;  /* name of the value, size or op; static text */
    const char *where; /* "mlp.c:44:9" of the user's model, or ""; EOVERLAP: the other value, "" = the arena;
                          EFILE: the file */
    int64_t found, lo, hi; /* EINDEX, EDIM: the value, and lo <= value < hi expected; see gcut_rt_message */
} gcut_rt_error;

/* Fills *e when e is not NULL; returns s. */
gcut_rt_status gcut_rt_fail(gcut_rt_error *e, gcut_rt_status s, const char *what, const char *where,
                            int64_t found, int64_t lo, int64_t hi);
/* One sentence into buf (always terminated); returns what snprintf would. */
int gcut_rt_message(const gcut_rt_error *e, char *buf, size_t size);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
