/* Prints health as JSON. jansson is loaded late. */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/late.h"
#include "runtime/health.h"

#define JANSSON_FUNCTIONS(F)                                                                       \
    F(json_object)                                                                                 \
    F(json_array)                                                                                  \
    F(json_string)                                                                                 \
    F(json_integer)                                                                                \
    F(json_real)                                                                                   \
    F(json_true)                                                                                   \
    F(json_false)                                                                                  \
    F(json_null)                                                                                   \
    F(json_object_set_new)                                                                         \
    F(json_array_append_new)                                                                       \
    F(json_dumps)                                                                                  \
    F(json_delete)

struct jansson {
    JANSSON_FUNCTIONS(ATH_LATE_MEMBER)
};
static const char *const jansson_names[] = { JANSSON_FUNCTIONS(ATH_LATE_NAME) NULL };
ATH_LATE_NOTE(jansson_note, "libjansson.so.4", "required");

static struct jansson jansson;

static void put_member(json_t *object, const char *key, json_t *value)
{
    jansson.json_object_set_new(object, key, value);
}

/* A text as JSON: null for NULL and for bytes that are not UTF-8. */
static json_t *text(const char *value)
{
    json_t *made = value ? jansson.json_string(value) : NULL;
    return made ? made : jansson.json_null();
}

static json_t *number(int64_t value)
{
    return value == ATH_UNKNOWN ? jansson.json_null() : jansson.json_integer(value);
}

static json_t *boolean(bool value)
{
    return value ? jansson.json_true() : jansson.json_false();
}

static json_t *device_json(const struct ath_runtime_device *device)
{
    json_t *object = jansson.json_object();
    put_member(object, "pci", text(device->pci));
    put_member(object, "uuid", text(device->uuid));
    put_member(object, "name", text(device->name));
    put_member(object, "is_simulated", boolean(device->is_simulated));
    put_member(object, "memory_total_bytes", number(device->memory_total_bytes));
    put_member(object, "memory_used_bytes", number(device->memory_used_bytes));
    put_member(object, "memory_limit_bytes", number(device->memory_limit_bytes));
    put_member(object, "sessions", number(device->sessions));
    return object;
}

static json_t *problem_json(const struct ath_runtime_problem *problem)
{
    json_t *object = jansson.json_object();
    put_member(object, "severity", text(problem->is_fault ? "fault" : "note"));
    put_member(object, "code", text(problem->code));
    put_member(object, "object", text(problem->object));
    put_member(object, "message", text(problem->message));
    return object;
}

static json_t *server_json(const struct ath_runtime_health *health)
{
    json_t *object = jansson.json_object();
    put_member(object, "software", text(health->software));
    put_member(object, "protocol", number(health->protocol));
    put_member(object, "uptime_ms", number((int64_t)health->uptime_ms));
    put_member(object, "node", text(health->node));
    put_member(object, "hostname", text(health->hostname));
    put_member(object, "address", text(health->address));
    put_member(object, "boot_id", text(health->boot_id));
    put_member(object, "net_namespace",
               health->net_namespace ? number((int64_t)health->net_namespace)
                                     : jansson.json_null());
    put_member(object, "is_simulated", boolean(health->is_simulated));
    put_member(object, "wants_key", boolean(health->wants_key));
    put_member(object, "vram_fraction", jansson.json_real(health->vram_fraction));
    put_member(object, "sessions", number(health->sessions));
    put_member(object, "driver_version",
               health->driver_version ? number(health->driver_version) : jansson.json_null());
    json_t *devices = jansson.json_array(), *problems = jansson.json_array();
    for (size_t i = 0; i < health->device_count; i++)
        jansson.json_array_append_new(devices, device_json(&health->devices[i]));
    for (size_t i = 0; i < health->problem_count; i++)
        jansson.json_array_append_new(problems, problem_json(&health->problems[i]));
    put_member(object, "devices", devices);
    put_member(object, "problems", problems);
    return object;
}

static json_t *error_json(const struct ath_err *err)
{
    json_t *object = jansson.json_object();
    put_member(object, "code", text(ath_error_word(err->code)));
    put_member(object, "message", text(err->message));
    put_member(object, "hint", text(*err->hint ? err->hint : NULL));
    return object;
}

int ath_health_print_json(const struct ath_runtime_health *health, const struct ath_err *err,
                          struct ath_err *out_err)
{
    int status = ath_late_load("libjansson.so.4", "libjansson4", jansson_names, &jansson, out_err);
    if (status)
        return status;
    json_t *object = jansson.json_object();
    put_member(object, "schema", text("aitherion.runtime-health/1"));
    put_member(object, "is_healthy", boolean(health && !ath_runtime_health_has_fault(health)));
    put_member(object, "server", health ? server_json(health) : jansson.json_null());
    put_member(object, "error", err ? error_json(err) : jansson.json_null());
    ath_auto_free char *made = jansson.json_dumps(object, JSON_INDENT(2));
    jansson.json_delete(object);
    if (!made)
        return ath_err_system(out_err, -ENOMEM, "%s", _("no memory for the output"));
    puts(made);
    return 0;
}
