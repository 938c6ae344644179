/* Reads needs, and divides them by the figures of each kind of GPU. */
#include "config.h"

#include "place/equivalent.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "place/choose.h"
#include "place/gpu_fingerprint.h"

/* ---- the request ---- */

static const double amount_max = 1e18;

/* Units by their spelling; case does not matter. GFLOPS stands for all formats. */
static const struct {
    const char *unit;
    enum ath_gpu_figure figure;
    double scale;
} units[] = {
    { "GFLOPS", ATH_GPU_FP16, 1 },
    { "TFLOPS", ATH_GPU_FP16, 1e3 },
    { "PFLOPS", ATH_GPU_FP16, 1e6 },
    { "M", ATH_GPU_MEMORY, 1048576.0 },
    { "MB", ATH_GPU_MEMORY, 1048576.0 },
    { "Mi", ATH_GPU_MEMORY, 1048576.0 },
    { "MiB", ATH_GPU_MEMORY, 1048576.0 },
    { "G", ATH_GPU_MEMORY, 1073741824.0 },
    { "GB", ATH_GPU_MEMORY, 1073741824.0 },
    { "Gi", ATH_GPU_MEMORY, 1073741824.0 },
    { "GiB", ATH_GPU_MEMORY, 1073741824.0 },
    { "T", ATH_GPU_MEMORY, 1099511627776.0 },
    { "TB", ATH_GPU_MEMORY, 1099511627776.0 },
    { "Ti", ATH_GPU_MEMORY, 1099511627776.0 },
    { "TiB", ATH_GPU_MEMORY, 1099511627776.0 },
    { "MB/s", ATH_GPU_MEMORY_BANDWIDTH, 1e6 },
    { "GB/s", ATH_GPU_MEMORY_BANDWIDTH, 1e9 },
    { "TB/s", ATH_GPU_MEMORY_BANDWIDTH, 1e12 },
};

static int hint(struct ath_err *err)
{
    return ath_err_hint(err, -EINVAL, "aitherion fingerprint --equivalent 100TFLOPS-fp16,80GB");
}

/* Finds the format of "fp16". Returns false if there is no such format. */
static bool find_format(const char *word, enum ath_gpu_figure *out)
{
    for (int i = ATH_GPU_FP64; i <= ATH_GPU_FP4; i++)
        if (!strcasecmp(word, ath_gpu_format_word((enum ath_gpu_figure)i))) {
            *out = (enum ath_gpu_figure)i;
            return true;
        }
    return false;
}

/* Reads the unit of a part: "TFLOPS-fp16", "GB", "TB/s". */
static int read_unit(const char *part, const char *unit, struct ath_need *need, double *out_scale,
                     struct ath_err *err)
{
    const char *dash = strchr(unit, '-');
    ath_auto_free char *word =
        dash ? ath_xasprintf("%.*s", (int)(dash - unit), unit) : ath_xstrdup(unit);
    size_t length = strlen(word), i = 0;

    while (i < ATH_COUNT(units) && strcasecmp(word, units[i].unit) != 0)
        i++;
    if (length > 3 && !strcmp(word + length - 3, "b/s")) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' counts bits: give bytes, as in 900GB/s"),
                    part);
        return hint(err);
    }
    bool is_throughput = i < ATH_COUNT(units) && units[i].figure == ATH_GPU_FP16;
    if (i == ATH_COUNT(units) || (dash && !is_throughput)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("'%s' is no throughput (100TFLOPS-fp16), memory (80GB) or bandwidth (2TB/s)"),
                    part);
        return hint(err);
    }
    need->figure = units[i].figure;
    *out_scale = units[i].scale;
    if (is_throughput && (!dash || !find_format(dash + 1, &need->figure))) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("'%s' does not end with a format: -fp64, -fp32, -tf32, -fp16, -bf16, -fp8 "
                      "or -fp4"),
                    part);
        return hint(err);
    }
    return 0;
}

static int read_part(const char *part, struct ath_need *need, struct ath_err *err)
{
    size_t digits = strspn(part, "0123456789.");
    ath_auto_free char *number = ath_xasprintf("%.*s", (int)digits, part);
    double value, scale = 0;

    if (!*part) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("a part of the request is empty"));
        return hint(err);
    }
    if (ath_parse_double(number, &value)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' does not begin with a number"), part);
        return hint(err);
    }
    int status = read_unit(part, part + digits, need, &scale, err);
    if (status)
        return status;
    double amount = round(value * scale);
    if (amount < 1) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' asks for nothing"), part);
        return hint(err);
    }
    if (amount > amount_max) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is more than can be counted"), part);
        return hint(err);
    }
    need->amount = (int64_t)amount;
    return 0;
}

static int add_need(struct ath_needs *needs, const struct ath_need *need, const char *part,
                    struct ath_err *err)
{
    for (size_t i = 0; i < needs->count; i++)
        if (needs->items[i].figure == need->figure) {
            ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' asks a second time for the same thing"),
                        part);
            return hint(err);
        }
    needs->items[needs->count++] = *need;
    return 0;
}

int ath_needs_read(const char *text, struct ath_needs *out, struct ath_err *err)
{
    const char *rest = text, *part;
    struct ath_needs needs = { 0 };
    size_t length;

    while ((part = ath_text_next_part(&rest, &length))) {
        ath_auto_free char *word = ath_xasprintf("%.*s", (int)length, part);
        struct ath_need need = { 0 };
        int status = read_part(word, &need, err);
        if (!status)
            status = add_need(&needs, &need, word, err);
        if (status)
            return status;
    }
    *out = needs;
    return 0;
}

/* ---- the answer ---- */

struct ath_equivalent ath_equivalent_of(const struct ath_needs *needs, const int64_t *figures)
{
    struct ath_equivalent result = { .state = ATH_EQUIVALENT_FITS };

    for (size_t i = 0; i < needs->count; i++) {
        const struct ath_need *need = &needs->items[i];
        int64_t figure = figures[need->figure];
        enum ath_equivalent_state state = figure > 0    ? ATH_EQUIVALENT_FITS
                                          : figure == 0 ? ATH_EQUIVALENT_NEVER
                                                        : ATH_EQUIVALENT_UNKNOWN;
        int64_t count = figure > 0 ? (need->amount - 1) / figure + 1 : ATH_UNKNOWN;
        if (state > result.state ||
            (state == ATH_EQUIVALENT_FITS && result.state == state && count > result.count))
            result = (struct ath_equivalent){ state, count, need->figure };
    }
    return result;
}

static void figures_of(const struct ath_machine *machine, size_t gpu, int64_t *figures)
{
    struct ath_gpu_fingerprint fingerprint;

    ath_gpu_fingerprint_make(machine, gpu, &fingerprint);
    for (int i = 0; i < ATH_GPU_FIGURE_COUNT; i++)
        figures[i] = fingerprint.figures[i].value;
    if (fingerprint.model && fingerprint.model->figures[ATH_GPU_MEMORY] > 0)
        figures[ATH_GPU_MEMORY] = fingerprint.model->figures[ATH_GPU_MEMORY];
    ath_gpu_fingerprint_free(&fingerprint);
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool are_alike(const struct ath_machine *machine, size_t a, size_t b)
{
    const struct ath_gpu *x = &machine->gpus[a], *y = &machine->gpus[b];
    const struct ath_gpu_model *model = ath_gpu_model_of(x);
    int64_t of_a[ATH_GPU_FIGURE_COUNT], of_b[ATH_GPU_FIGURE_COUNT];

    if (model != ath_gpu_model_of(y))
        return false;
    figures_of(machine, a, of_a);
    figures_of(machine, b, of_b);
    return of_a[ATH_GPU_MEMORY] == of_b[ATH_GPU_MEMORY] &&
           (model || (is_same_text(x->model, y->model) && x->vendor_id == y->vendor_id &&
                      x->device_id == y->device_id));
}

static void add_gpu(const struct ath_machine *machine, size_t gpu, struct ath_equivalents *out)
{
    size_t at = 0;

    while (at < out->count && !are_alike(machine, out->kinds[at].gpus[0], gpu))
        at++;
    if (at == out->count) {
        struct ath_equivalent_kind *added = ath_push(&out->kinds, &out->count, sizeof *added);
        *added = (struct ath_equivalent_kind){ .model = ath_gpu_model_of(&machine->gpus[gpu]) };
    }
    struct ath_equivalent_kind *kind = &out->kinds[at];
    *(size_t *)ath_push(&kind->gpus, &kind->count, sizeof *kind->gpus) = gpu;
}

void ath_equivalents_here(const struct ath_machine *machine, const struct ath_needs *needs,
                          struct ath_equivalents *out)
{
    ath_auto_free bool *is_usable = ath_xalloc(machine->gpu_count * sizeof *is_usable);
    int64_t figures[ATH_GPU_FIGURE_COUNT];

    *out = (struct ath_equivalents){ 0 };
    ath_place_usable(machine, is_usable);
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (is_usable[i])
            add_gpu(machine, i, out);
    for (size_t i = 0; i < out->count; i++) {
        figures_of(machine, out->kinds[i].gpus[0], figures);
        out->kinds[i].equivalent = ath_equivalent_of(needs, figures);
    }
}

void ath_equivalents_free(struct ath_equivalents *equivalents)
{
    for (size_t i = 0; i < equivalents->count; i++)
        free(equivalents->kinds[i].gpus);
    free(equivalents->kinds);
    *equivalents = (struct ath_equivalents){ 0 };
}
