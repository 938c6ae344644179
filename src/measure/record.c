/* Writes and reads the file of a measurement by jansson. */
#include "config.h"

#include "measure/record.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"

enum { BYTES_MAX = 4 << 20, LOCK_MS = 10000 };

/* ---- writing ---- */

static json_t *number(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *text(const char *value)
{
    return *value ? json_string(value) : json_null();
}

static json_t *gpus_of(const struct ath_measurement *measurement)
{
    json_t *list = json_array();

    for (int i = 0; i < measurement->gpu_count; i++) {
        const struct ath_measured_gpu *gpu = &measurement->gpus[i];
        char pci[ATH_PCI_TEXT];
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "pci", ath_pci_format(&gpu->pci, pci),
                            "uuid", text(gpu->uuid), "to_gpu_bytes_per_s",
                            number(gpu->to_gpu_bytes_per_s), "from_gpu_bytes_per_s",
                            number(gpu->from_gpu_bytes_per_s), "error", text(gpu->error)));
    }
    return list;
}

static json_t *copies_of(const struct ath_measurement *measurement)
{
    json_t *list = json_array();

    for (int i = 0; i < measurement->gpu_count; i++)
        for (int j = 0; j < measurement->gpu_count; j++) {
            const struct ath_measured_copies *copies = &measurement->copies[i][j];
            if (i == j)
                continue;
            json_array_append_new(list,
                                  json_pack("{s:i, s:i, s:o, s:o, s:b, s:o}", "from", i, "to", j,
                                            "bytes_per_s", number(copies->bytes_per_s),
                                            "latency_ns", number(copies->latency_ns), "direct",
                                            copies->is_direct, "error", text(copies->error)));
        }
    return list;
}

int ath_measurement_save(const char *path, const struct ath_measurement *measurement,
                         struct ath_err *err)
{
    ath_auto_close int lock = -1;
    json_auto_t *whole = json_pack(
        "{s:s, s:s, s:o, s:i, s:o, s:o}", "schema", ATH_MEASURED_SCHEMA, "date", measurement->date,
        "driver_version", text(measurement->driver_version), "cuda_version",
        measurement->cuda_version, "gpus", gpus_of(measurement), "copies", copies_of(measurement));
    ath_auto_free char *dump = whole ? json_dumps(whole, JSON_INDENT(2)) : NULL;
    if (!dump)
        return ath_err_set(err, -EINVAL, ATH_E_INTERNAL, _("the figures are no valid JSON"));
    ath_auto_free char *data = ath_xasprintf("%s\n", dump);
    int status = ath_file_lock(path, LOCK_MS, &lock, err);

    return status ? status : ath_file_save(path, data, strlen(data), err);
}

/* ---- reading ---- */

static void read_text(const json_t *object, const char *name, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(object, name));
    snprintf(out, size, "%s", value ? value : "");
}

/* A number above 0, or ATH_UNKNOWN. */
static int64_t read_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) && json_integer_value(value) > 0 ? json_integer_value(value)
                                                                   : ATH_UNKNOWN;
}

static const char *read_gpus(const json_t *list, struct ath_measurement *out)
{
    size_t count = json_array_size(list);

    if (!count || count > ATH_MEASURED_GPUS_MAX)
        return _("the list 'gpus' is missing or too long");
    out->gpu_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *object = json_array_get(list, i);
        struct ath_measured_gpu *gpu = &out->gpus[i];
        const char *pci = json_string_value(json_object_get(object, "pci"));
        if (!pci || ath_pci_parse(pci, &gpu->pci))
            return _("a GPU has no PCI address");
        read_text(object, "uuid", gpu->uuid, sizeof gpu->uuid);
        read_text(object, "error", gpu->error, sizeof gpu->error);
        gpu->to_gpu_bytes_per_s = read_number(object, "to_gpu_bytes_per_s");
        gpu->from_gpu_bytes_per_s = read_number(object, "from_gpu_bytes_per_s");
    }
    return NULL;
}

static const char *read_copies(const json_t *list, struct ath_measurement *out)
{
    for (int i = 0; i < out->gpu_count; i++)
        for (int j = 0; j < out->gpu_count; j++)
            out->copies[i][j].bytes_per_s = out->copies[i][j].latency_ns = ATH_UNKNOWN;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        const json_t *from = json_object_get(object, "from"), *to = json_object_get(object, "to");
        json_int_t a = json_is_integer(from) ? json_integer_value(from) : -1,
                   b = json_is_integer(to) ? json_integer_value(to) : -1;
        if (a < 0 || b < 0 || a >= out->gpu_count || b >= out->gpu_count || a == b)
            return _("an entry of 'copies' names no two GPUs");
        struct ath_measured_copies *copies = &out->copies[a][b];
        copies->bytes_per_s = read_number(object, "bytes_per_s");
        copies->latency_ns = read_number(object, "latency_ns");
        copies->is_direct = json_is_true(json_object_get(object, "direct"));
        read_text(object, "error", copies->error, sizeof copies->error);
    }
    return NULL;
}

static const char *read_whole(const json_t *whole, struct ath_measurement *out)
{
    const char *schema = json_string_value(json_object_get(whole, "schema"));

    if (!schema || strcmp(schema, ATH_MEASURED_SCHEMA) != 0)
        return _("its schema is not that of measured figures");
    read_text(whole, "date", out->date, sizeof out->date);
    read_text(whole, "driver_version", out->driver_version, sizeof out->driver_version);
    int64_t version = read_number(whole, "cuda_version");
    out->cuda_version = version > 0 && version < 1000000 ? (int)version : 0;
    const char *fault = read_gpus(json_object_get(whole, "gpus"), out);
    return fault ? fault : read_copies(json_object_get(whole, "copies"), out);
}

int ath_measurement_load(const char *path, struct ath_measurement **out, struct ath_err *err)
{
    ath_auto_free char *data = NULL;
    size_t length;
    json_error_t where;
    int status = ath_file_read(path, BYTES_MAX, &data, &length, err);

    if (status)
        return status;
    json_auto_t *whole = json_loadb(data, length, 0, &where);
    if (!whole)
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, _("line %d: %s"), where.line,
                           where.text);
    ath_auto_free struct ath_measurement *measurement = ath_xalloc(sizeof *measurement);
    const char *fault = read_whole(whole, measurement);
    if (fault)
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, "%s", fault);
    *out = ath_steal(&measurement);
    return 0;
}
