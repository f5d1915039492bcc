/* SPDX-License-Identifier: MIT
 *
 * The one list of statuses; see GCUT_STATUS_MAP for what each means.
 */
#ifndef GRADCUT_STATUS_H
#define GRADCUT_STATUS_H

/*  name          text */
#define GCUT_STATUS_MAP(X)                                                                                   \
    X(OK, "no error")                                                                                        \
    X(ENOMEM, "out of memory")                                                                               \
    X(ESYNTAX, "the text is not valid gradcut IR")                                                           \
    X(ETYPE, "types, shapes or attributes do not fit")                                                       \
    X(EGRAD, "not differentiable as asked")                                                                  \
    X(EPLAN, "the plan's constraints cannot be met")                                                         \
    X(EUNSUPPORTED, "valid, but this build cannot do it")                                                    \
    X(EIO, "a file could not be read or written")                                                            \
    X(ETOOL, "the C compiler or the loader failed")                                                          \
    X(EUSAGE, "a call that the API does not allow")                                                          \
    X(EDIM, "a size does not fit its declaration")                                                           \
    X(EINDEX, "an index is out of its range")                                                                \
    X(ECHECK, "a check failed")                                                                              \
    X(ECANCELLED, "cancelled by the progress hook")

typedef enum gcut_status {
#define GCUT_X(name, text) GCUT_##name,
    GCUT_STATUS_MAP(GCUT_X)
#undef GCUT_X
} gcut_status;

#endif
