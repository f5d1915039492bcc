/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training data made from a seed.
 */
#include "data.h"

#include "../die.h"

#define CLASSES 4    /* that occur; every model has as many */
#define TOKENS 48    /* that occur; every vocabulary is as large */
#define HIDDEN 0     /* the token that stands for a hidden one */
#define IGNORED -100 /* the label that costs nothing */

static gcut_value_info input(gcut_step *step, const char *name)
{
    const gcut_value_info *v = gcut_step_value(step, name);
    if (!v || (!v->bound && !gcut_fill(step, name))) die("the model has no input %s", name);
    return *gcut_step_value(step, name);
}

static int64_t count(const gcut_value_info *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++) n *= v->dim[d];
    return n;
}

/* Uniform in 0..most-1. */
static int32_t below(data *d, int64_t most)
{
    return (int32_t)rng_below(&d->random, most);
}

/* ---- images ---- */

/* Class c at element i of a row of `width`: a plane wave whose direction and phase are those of the class. */
static double wave(int32_t c, int64_t i, int64_t width)
{
    double x = (double)(i % width), y = (double)(i / width);
    return sin(0.9 * (1 + c % 3) * x + 0.7 * (c / 3) * y + c);
}

void data_images(data *d, gcut_step *step)
{
    gcut_value_info x = input(step, "x"), t = input(step, "t");
    int64_t n = x.dim[0], each = count(&x) / (n ? n : 1), width = x.dim[x.rank - 1];
    float *at = x.at;
    int32_t *label = t.at;
    for (int64_t i = 0; i < n; i++) {
        label[i] = below(d, CLASSES);
        for (int64_t k = 0; k < each; k++)
            at[i * each + k] = (float)(wave(label[i], k, width) + 0.5 * rng_normal(&d->random));
    }
}

/* A disc in a picture of h by w. */
typedef struct disc {
    double x, y, radius;
} disc;

static disc disc_new(data *d, int64_t h, int64_t w)
{
    double least = (double)(h < w ? h : w);
    double x = rng_unit(&d->random), y = rng_unit(&d->random), radius = rng_unit(&d->random);
    return (disc){x * (double)w, y * (double)h, least * (0.15 + 0.2 * radius)};
}

static bool disc_holds(const disc *c, int64_t y, int64_t x)
{
    return hypot((double)x + 0.5 - c->x, (double)y + 0.5 - c->y) <= c->radius;
}

void data_pictures(data *d, gcut_step *step)
{
    gcut_value_info x = input(step, "x");
    int64_t h = x.rank > 2 ? x.dim[x.rank - 2] : (int64_t)sqrt((double)x.dim[1]);
    int64_t w = x.rank > 2 ? x.dim[x.rank - 1] : x.dim[1] / h, pixels = h * w, n = count(&x) / pixels;
    float *at = x.at;
    for (int64_t i = 0; i < n; i++) {
        disc c = disc_new(d, h, w);
        for (int64_t k = 0; k < pixels; k++) at[i * pixels + k] = disc_holds(&c, k / w, k % w);
    }
}

void data_masks(data *d, gcut_step *step)
{
    gcut_value_info x = input(step, "x"), t = input(step, "t");
    int64_t n = x.dim[0], h = x.dim[2], w = x.dim[3], pixels = h * w;
    float *at = x.at;
    int32_t *mask = t.at;
    for (int64_t i = 0; i < n; i++) {
        disc c[2];
        c[0] = disc_new(d, h, w);
        c[1] = disc_new(d, h, w);
        for (int64_t k = 0; k < pixels; k++) {
            int32_t in = disc_holds(&c[0], k / w, k % w) || disc_holds(&c[1], k / w, k % w);
            mask[i * pixels + k] = in;
            at[i * pixels + k] = (float)(in + 0.5 * rng_normal(&d->random));
        }
    }
}

/* ---- sequences ---- */

void data_tokens(data *d, gcut_step *step)
{
    gcut_value_info ids = input(step, "ids"), labels = input(step, "labels");
    int64_t n = ids.dim[0], length = ids.dim[1];
    int32_t *at = ids.at, *next = labels.at;
    if (d->text) {
        text_random_crops(d->text, &d->random, n, length, at, next);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t id = below(d, TOKENS);
        for (int64_t k = 0; k < length; k++) {
            at[i * length + k] = id;
            id = below(d, 10) ? (5 * id + 7) % TOKENS : below(d, TOKENS);
            next[i * length + k] = id;
        }
    }
}

void data_cloze(data *d, gcut_step *step)
{
    gcut_value_info ids = input(step, "ids"), labels = input(step, "labels"), parts = input(step, "segments");
    int64_t n = ids.dim[0], length = ids.dim[1];
    int32_t *at = ids.at, *asked = labels.at, *part = parts.at;
    for (int64_t i = 0; i < n; i++) {
        int32_t id = below(d, TOKENS - 1);
        for (int64_t k = 0; k < length; k++) {
            bool hide = below(d, 7) == 0 || k == i % length; /* one at least: a mean over none is NaN */
            int32_t token = 1 + (id + (int32_t)k) % (TOKENS - 1);
            at[i * length + k] = hide ? HIDDEN : token;
            asked[i * length + k] = hide ? token : IGNORED;
            part[i * length + k] = 2 * k >= length;
        }
    }
}
