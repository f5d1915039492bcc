/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A profile as JSON, which driver/inspect/profile_file.c reads.
 */
#include "report/report.h"

void gcut_write_profile_json(const gcut_profile *p, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    gcut_json_members(&j, "graph:s joint_hash:s machine:s", p->graph, p->joint_hash, p->machine);
    gcut_json_key_object(&j, "at");
    for (size_t i = 0; i < p->nsizes; i++) gcut_json_key_int(&j, p->sizes[i].name, p->sizes[i].value);
    gcut_json_end(&j);
    gcut_json_members(&j, "step_ns:r step_ns_lo:r step_ns_hi:r step_ns_best:r step_ns_p90:r predicted_ns:r",
                      p->median_ns, p->median_lo_ns, p->median_hi_ns, p->best_ns, p->p90_ns, p->predicted_ns);
    gcut_json_members(&j, "means:b", p->means);
    gcut_json_members(&j, "steps:i threads:i priced_threads:i limit_flops_per_s:r limit_bytes_per_s:r",
                      (int64_t)p->steps, (int64_t)p->threads, (int64_t)p->priced_threads,
                      p->peak_flops_per_second, p->peak_bytes_per_second);
    gcut_json_key_array(&j, "kernels");
    for (size_t i = 0; i < p->n; i++) {
        const gcut_kernel_time *k = p->at[i];
        gcut_json_object(&j);
        gcut_json_members(&j, "kernel:i class:s value:s op:s loc:s half:s", (int64_t)k->launch, k->family,
                          k->value, k->op, k->where, k->backward ? "backward" : "forward");
        gcut_json_members(
            &j, "runs:r measured_ns:r least_ns:r lower_ns:r upper_ns:r predicted_ns:r flops:r bytes:r",
            k->runs, k->measured_ns, k->least_ns, k->lower_ns, k->upper_ns, k->predicted_ns, k->flops,
            k->bytes);
        if (k->busy_ns) gcut_json_key_array(&j, "busy_ns");
        for (int t = 0; k->busy_ns && t < p->threads; t++) gcut_json_real(&j, k->busy_ns[t]);
        if (k->busy_ns) gcut_json_end(&j);
        gcut_json_end(&j);
    }
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
