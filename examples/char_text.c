/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A text as a language model sees it.
 */
#include "char_text.h"

#include "die.h"

static uint8_t *read_all(const char *path, int64_t *length)
{
    FILE *f = fopen(path, "rb");
    if (!f) die("%s: cannot be opened", path);
    size_t room = 1 << 16, n = 0, got;
    uint8_t *bytes = malloc(room);
    while (bytes && (got = fread(bytes + n, 1, room - n, f)) > 0) {
        n += got;
        if (n == room) bytes = realloc(bytes, room *= 2);
    }
    if (!bytes) die("%s: out of memory", path);
    if (ferror(f)) die("%s: cannot be read", path);
    fclose(f);
    *length = (int64_t)n;
    return bytes;
}

/* With p(a) the share of a among all characters, and p(a, b) the share of "a, then b" among all pairs of
 * neighbours: unigram  H(X)     = -sum over a of p(a) log p(a) bigram   H(Y | X) = -sum over a, b of p(a, b)
 * log (p(a, b) / p(a, .)) A model that knows the frequencies of the characters alone cannot do better than
 * the first on this text, one that sees the previous character alone not better than the second. */
static void text_entropies(text *t)
{
    static double pair[256][256];
    double one[256] = {0};
    for (int64_t i = 0; i < t->length; i++) one[t->id[i]]++;
    for (int64_t i = 0; i + 1 < t->length; i++) pair[t->id[i]][t->id[i + 1]]++;
    t->unigram = t->bigram = 0;
    for (int a = 0; a < t->vocabulary; a++) {
        double from = 0;
        t->unigram -= one[a] / (double)t->length * log(one[a] / (double)t->length);
        for (int b = 0; b < t->vocabulary; b++) from += pair[a][b];
        for (int b = 0; b < t->vocabulary; b++)
            if (pair[a][b] > 0) t->bigram -= pair[a][b] / (double)(t->length - 1) * log(pair[a][b] / from);
    }
}

text text_load(const char *path, int64_t context)
{
    text t = {0};
    int id_of[256] = {0};
    t.id = read_all(path, &t.length);
    t.train = t.length - t.length / 10;
    if (t.length - t.train <= context)
        die("%s: %lld characters are too few: the last tenth must hold more than "
            "the context of %lld (--context)",
            path, (long long)t.length, (long long)context);
    for (int64_t i = 0; i < t.length; i++) id_of[t.id[i]] = 1;
    for (int b = 0; b < 256; b++) {
        if (!id_of[b]) continue;
        id_of[b] = t.vocabulary;
        t.byte_of[t.vocabulary++] = (uint8_t)b;
    }
    for (int64_t i = 0; i < t.length; i++) t.id[i] = (uint8_t)id_of[t.id[i]];
    text_entropies(&t);
    return t;
}

void text_free(text *t)
{
    free(t->id);
}

static void crop(const uint8_t *at, int64_t context, int32_t *ids, int32_t *labels)
{
    for (int64_t i = 0; i < context; i++) {
        ids[i] = at[i];
        labels[i] = at[i + 1];
    }
}

void text_random_crops(const text *t, rng *r, int64_t batch, int64_t context, int32_t *ids, int32_t *labels)
{
    for (int64_t b = 0; b < batch; b++)
        crop(t->id + rng_below(r, t->train - context), context, ids + b * context, labels + b * context);
}

void text_even_crops(const text *t, int64_t first, int64_t total, int64_t batch, int64_t context,
                     int32_t *ids, int32_t *labels)
{
    int64_t last = t->length - t->train - context - 1; /* the last start whose labels exist */
    for (int64_t b = 0; b < batch; b++) {
        int64_t at = total > 1 ? (int64_t)((double)last * (double)(first + b) / (double)(total - 1)) : 0;
        crop(t->id + t->train + at, context, ids + b * context, labels + b * context);
    }
}
