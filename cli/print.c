/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The width of tables; JSON strings, bytes and scalars.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

gcut_table_options gcut_cli_table(const gcut_cli *c)
{
    struct winsize size;
    const bool known = isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return (gcut_table_options){.symbolic = c->symbolic,
                                .all = c->all,
                                .top = c->top,
                                .match = c->match,
                                .bold = gcut_cli_coloured(stdout),
                                .columns = known ? size.ws_col : 0};
}

/* Bytes of the well-formed UTF-8 sequence at s (Unicode's table 3-7); 0 = there is none. */
static int utf8_length(const unsigned char *s)
{
    unsigned lo = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
    unsigned hi = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
    int n = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    if (n > 1 && (s[1] < lo || s[1] > hi)) return 0;
    for (int i = 2; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    return n;
}

static void print_string(FILE *out, const char *string)
{
    if (!string) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)string; *s;) {
        int n = utf8_length(s);
        if (*s == '\n')
            fputs("\\n", out);
        else if (*s < 0x20 || *s == 0x7F)
            fprintf(out, "\\u%04x", (unsigned)*s);
        else if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (!n)
            fputs("\xEF\xBF\xBD", out);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n ? n : 1;
    }
    fputc('"', out);
}

void gcut_cli_json(const char *form, ...)
{
    va_list ap;
    va_start(ap, form);
    for (const char *s = form; *s; s++) {
        const char kind = *s == '$' ? *++s : 0;
        double x;
        switch (kind) {
        case 0: putchar(*s); break;
        case 's': print_string(stdout, va_arg(ap, const char *)); break;
        case 'i': printf("%" PRId64, va_arg(ap, int64_t)); break;
        default: x = va_arg(ap, double); printf(isfinite(x) ? "%.17g" : "null", x);
        }
    }
    va_end(ap);
}

void gcut_cli_bytes(FILE *out, int64_t n)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, n), u = -1;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0 && digits[i - 1] != '-') fputc(',', out);
        fputc(digits[i], out);
    }
    fputs(" bytes", out);
    double x = (double)n;
    while (x >= 1024 && u < 5) x /= 1024, u++;
    if (u >= 0) fprintf(out, " (%.1f %s)", x, unit[u]);
}

static double read_f16(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double x = exponent == 31 ? (mantissa ? NAN : INFINITY)
               : exponent     ? ldexp(mantissa | 1024, exponent - 25)
                              : ldexp(mantissa, -24);
    return h >> 15 ? -x : x;
}

static double read_bf16(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* f32 and narrower read back equal as f32: so few digits are enough, and 0.1 prints as 0.1. */
static void print_real(FILE *out, double x, bool wide, bool json)
{
    char text[40];
    if (!isfinite(x) && json) {
        fputs("null", out);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (wide ? strtod(text, NULL) == x : strtof(text, NULL) == (float)x) break;
    }
    fputs(isnan(x) ? "nan" : text, out);
}

void gcut_cli_scalar(FILE *out, const gcut_value_info *v, bool json)
{
#define INTEGER(which, type)                                                                                 \
    case which: {                                                                                            \
        type x;                                                                                              \
        memcpy(&x, v->at, sizeof x);                                                                         \
        fprintf(out, "%" PRId64, (int64_t)x);                                                                \
        break;                                                                                               \
    }
#define REAL(which, type, read, wide)                                                                        \
    case which: {                                                                                            \
        type x;                                                                                              \
        memcpy(&x, v->at, sizeof x);                                                                         \
        print_real(out, read(x), wide, json);                                                                \
        break;                                                                                               \
    }
    switch (v->dtype) {
        INTEGER(GCUT_BOOL, uint8_t)
        INTEGER(GCUT_I8, int8_t)
        INTEGER(GCUT_I16, int16_t)
        INTEGER(GCUT_I32, int32_t)
        INTEGER(GCUT_I64, int64_t)
        INTEGER(GCUT_U8, uint8_t)
        REAL(GCUT_F16, uint16_t, read_f16, false)
        REAL(GCUT_BF16, uint16_t, read_bf16, false)
        REAL(GCUT_F32, float, (double), false)
        REAL(GCUT_F64, double, (double), true)
    case GCUT_NO_DTYPE: break;
    }
#undef INTEGER
#undef REAL
}

int gcut_cli_print_made(gcut_ctx *ctx, char *text)
{
    if (!text) return gcut_cli_failed(ctx);
    fputs(text, stdout);
    gcut_free(text);
    return EXIT_FINE;
}

int gcut_cli_write(gcut_ctx *ctx, const char *path, const char *text)
{
    return gcut_write_text(ctx, path, text) == GCUT_OK ? EXIT_FINE : gcut_cli_failed(ctx);
}

int gcut_cli_write_made(gcut_ctx *ctx, const char *path, char *text)
{
    if (!text) return gcut_cli_failed(ctx);
    const int code = gcut_cli_write(ctx, path, text);
    gcut_free(text);
    return code;
}
