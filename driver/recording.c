/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The recordings of a thread.
 *
 * A recorded function may leave by longjmp or an exception.  What is noted of the recording is then stale, which the stack
 * tells: the frame that called the function is no longer on it.  The notes point to nothing that may have been freed
 * meanwhile.  Code without unwind tables ends what can be read of the stack: a frame that lies beyond is taken to be there.
 */
#include "driver/recording.h"

#include <stdio.h>
#include <unwind.h>

#define MOST_NESTED 16

/* The recordings of this thread, the innermost last. */
typedef struct recorder {
    uintptr_t frame, function; /* the frame, and the start of the function of which it is */
    char name[64];
    gcut_refused refused;
} recorder;
static _Thread_local recorder recorders[MOST_NESTED];
static _Thread_local int nested;

typedef struct search {
    uintptr_t frame, function; /* function 0: any, which is filled in */
    uintptr_t last;            /* frame that was read */
    bool found;
} search;

static _Unwind_Reason_Code compare_frame(struct _Unwind_Context *at, void *arg)
{
    search *s = arg;
    const uintptr_t function = _Unwind_GetRegionStart(at);
    s->last = _Unwind_GetCFA(at);
    s->found = s->last == s->frame && (!s->function || s->function == function);
    if (s->found) s->function = function;
    return s->found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Stacks grow to lower addresses. */
static bool on_stack(const recorder *r)
{
    search s = {.frame = r->frame, .function = r->function};
    _Unwind_Backtrace(compare_frame, &s);
    return s.found || s.last < r->frame;
}

/* Forgets what was left. */
static void settle(void)
{
    while (nested && !on_stack(&recorders[nested - 1])) nested--;
}

const char *gcut_recording_refuses(const char *what)
{
    if (nested) settle();
    if (!nested) return NULL;
    recorder *r = &recorders[nested - 1];
    snprintf(r->refused.what, sizeof r->refused.what, "%s", what);
    return r->name;
}

void gcut_refuse_recording(gcut_env *env, const char *what)
{
    const char *name = gcut_recording_refuses(what);
    if (name)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, GCUT_OUTSIDE_RECORDING,
                  "the function that is recorded as @%s %s", name, what);
}

int gcut_recording_begin(gcut_env *env, const char *name, uintptr_t frame)
{
    settle();
    if (nested == MOST_NESTED)
        gcut_fail(env, GCUT_EUNSUPPORTED, (gcut_place){0}, NULL,
                  "%d functions are recorded inside each other", nested);
    recorder *r = &recorders[nested];
    search s = {.frame = frame};
    _Unwind_Backtrace(compare_frame, &s);
    *r = (recorder){.frame = frame, .function = s.function};
    snprintf(r->name, sizeof r->name, "%s", name);
    return nested++;
}

gcut_refused gcut_recording_end(int number)
{
    nested = number;
    return recorders[number].refused;
}
