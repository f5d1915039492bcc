/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One run of a C function, recorded as a function of a module.
 */
#ifndef GCUT_DRIVER_TRACE_RECORD_H
#define GCUT_DRIVER_TRACE_RECORD_H

#include "driver/trace/computed.h"

/* A parameter of what is recorded. */
typedef struct gcut_recorded_input {
    const char *name;
    gcut_role role;
    gcut_type type;          /* of the module */
    const void *at;          /* contents, which gcut_cond may need; NULL: none */
    const gcut_marks *marks; /* NULL: none */
} gcut_recorded_input;

typedef struct gcut_record {
    gcut_module *m; /* in which it is recorded */
    const char *name;
    gcut_here at; /* of the user's call */
    gcut_body *fn;
    void *user;
    const gcut_recorded_input *in;
    int nin, nout;
    const gcut_dim_decl *decls;
    uint32_t ndecls;
    const gcut_dim_binding *bind;
    uint32_t nbind;
    const bool *imposed; /* as in gcut_computed */
    uint32_t nimposed;
    bool explores;
    /* what comes out: */
    gcut_graph *g; /* not in the module's list */
    const gcut_branch *branches;
    uint32_t nbranches;
} gcut_record;

/* Runs fn.  Called outside of gcut_protect, since fn may leave by longjmp.  false after an error, which is in the
 * environment. */
bool gcut_record_run(gcut_record *r);

#endif
