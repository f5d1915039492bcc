/* SPDX-License-Identifier: MIT
 *
 * The list of statuses.  Their numbers are part of the interface and do not change in 1.x; a new status gets
 * the next number.
 */
#ifndef GRADCUT_STATUS_H
#define GRADCUT_STATUS_H

// clang-format off
/*  name, number, text: what gcut_status_text returns, and when it is returned */
#define GCUT_STATUS_MAP(X) \
    X(OK,           0,  "no error")                                      /* the call did what it says */ \
    X(ENOMEM,       1,  "out of memory")                                 /* an allocation failed; what the call made is freed */ \
    X(ESYNTAX,      2,  "the text is not valid gradcut IR")              /* the text IR, a plan file or attributes that do not parse */ \
    X(ETYPE,        3,  "types, shapes or attributes do not fit")        /* the ops and values of a graph do not fit together */ \
    X(EGRAD,        4,  "not differentiable as asked")                   /* the loss, its parameters or an op has no derivative as asked for */ \
    X(EPLAN,        5,  "the plan's constraints cannot be met")          /* marks, options, a budget or a plan file that no plan satisfies */ \
    X(EUNSUPPORTED, 6,  "valid, but this build cannot do it")            /* no kernel, no backend or no machine model of this build does it */ \
    X(EIO,          7,  "a file could not be read or written")           /* reading or writing a file, a folder or a pipe failed */ \
    X(ETOOL,        8,  "the C compiler or the loader failed")           /* the C compiler, the linker or dlopen failed */ \
    X(EUSAGE,       9,  "a call that the API does not allow")            /* a NULL argument, an option out of its range, a call out of order */ \
    X(EDIM,         10, "a size does not fit its declaration")           /* a size outside the range of its symbol, or not that of what is bound */ \
    X(EINDEX,       11, "an index is out of its range")                  /* an index of a gather or a scatter, seen by a run */ \
    X(ECHECK,       12, "a check failed")                                /* two backends, or a gradient and its difference quotient, disagree */ \
    X(ECANCELLED,   13, "cancelled by the progress hook")                /* gcut_hooks.progress returned true */
// clang-format on

typedef enum gcut_status {
#define GCUT_X(name, number, text) GCUT_##name = number,
    GCUT_STATUS_MAP(GCUT_X)
#undef GCUT_X
} gcut_status;

#endif
