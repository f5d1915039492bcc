/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of profiles: what is read is written as JSON that reads as the same profile, and has a table, a picture
 * and a trace.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "gradcut/inspect.h"

/* The reader takes files. */
static gcut_profile *read_text(gcut_ctx *ctx, const void *text, size_t n)
{
    static char path[64];
    if (!*path) snprintf(path, sizeof path, "/tmp/gradcut-fuzz-profile-%d.json", (int)getpid());
    FILE *f = fopen(path, "w");
    GCUT_ASSERT(f && fwrite(text, 1, n, f) == n);
    GCUT_ASSERT(fclose(f) == 0);
    gcut_profile *p = gcut_profile_read(ctx, path);
    unlink(path);
    return p;
}

static void free_made(char *text)
{
    GCUT_ASSERT(text);
    gcut_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    if (!ctx) return 0;
    gcut_profile *p = read_text(ctx, data, size);
    if (p) {
        char *first = gcut_profile_json(ctx, p);
        GCUT_ASSERT(first);
        gcut_profile *again = read_text(ctx, first, strlen(first));
        GCUT_ASSERT(again);
        char *second = gcut_profile_json(ctx, again);
        GCUT_ASSERT(second && !strcmp(first, second));
        free_made(gcut_profile_text(ctx, p, NULL));
        free_made(gcut_profile_svg(ctx, p));
        free_made(gcut_profile_trace(ctx, p, NULL));
        gcut_free(again);
        gcut_free(first);
        gcut_free(second);
    } else {
        GCUT_ASSERT(*gcut_last_error(ctx));
    }
    gcut_free(p);
    gcut_ctx_free(ctx);
    return 0;
}
