/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kernels and what is in them, and why ops are not in one, as JSON.
 */
#include "report/report.h"

void gcut_write_fusion_json(const gcut_fusion *f, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    gcut_json_members(&j, "graph:s policy:s", f->graph, f->policy);
    gcut_json_key_object(&j, "at");
    for (size_t i = 0; i < f->nat; i++) gcut_json_key_int(&j, f->at[i].name, f->at[i].value);
    gcut_json_end(&j);
    gcut_json_members(&j, "threads:i machine:s step_ns:r", (int64_t)f->threads, f->machine, f->step_ns);
    gcut_json_key_array(&j, "kernels");
    for (size_t i = 0; i < f->nkernels; i++) {
        const gcut_fused_kernel *k = f->kernel[i];
        gcut_json_object(&j);
        gcut_json_members(
            &j, "kernel:i half:s class:s value:s op:s loc:s runs:r ns:r flops:r bytes:r unstored_bytes:r",
            (int64_t)k->launch, k->backward ? "backward" : "forward", k->family, k->value, k->op, k->where,
            k->runs, k->ns, k->flops, k->bytes, k->unstored_bytes);
        gcut_json_key_array(&j, "ops");
        for (size_t m = 0; m < k->nmade; m++) {
            const gcut_fused_op *x = k->made[m];
            gcut_json_object(&j);
            gcut_json_members(&j, "value:s op:s loc:s part:s stored:b", x->value, x->op, x->where,
                              *x->part ? x->part : "main", x->stored);
            gcut_json_end(&j);
        }
        gcut_json_end(&j);
        gcut_json_end(&j);
    }
    gcut_json_end(&j);
    gcut_json_key_array(&j, "unfused");
    for (size_t i = 0; i < f->nunfused; i++) {
        const gcut_unfused *x = f->unfused[i];
        gcut_json_object(&j);
        gcut_json_members(
            &j,
            "value:s op:s loc:s reader:s reader_op:s reader_loc:s from:k to:i half:s again:b code:s reason:s "
            "bytes:r ns:r stored_anyway:s",
            x->value, x->op, x->where, x->reader, x->reader_op, x->reader_where, (int64_t)x->from,
            (int64_t)x->to, x->backward ? "backward" : "forward", x->again, x->code, x->reason, x->bytes,
            x->ns, x->anyway);
        gcut_json_end(&j);
    }
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
