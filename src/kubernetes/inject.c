/* Makes the JSON patch of a pod with GPUs. */
#include "config.h"

#include "kubernetes/inject.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "kubernetes/pod.h"

#define LIBRARY "aitherion-library"
#define KEY "aitherion-key"
#define LIBRARY_FOLDER "/var/lib/aitherion-library"
#define KEY_FOLDER "/var/run/secrets/aitherion"
#define LIBRARY_PATH "LD_LIBRARY_PATH"

static const char default_scheduler[] = "default-scheduler";

/* The variables of a container. */
static const struct variable {
    const char *name;
    const char *annotation; /* the value comes from there at the start of the container; or NULL */
    const char *value;
} variables[] = {
    { "AITHERION_SERVER", "aitherion.io/runtime", NULL },
    { "CUDA_VISIBLE_DEVICES", ATH_KUBE_GPUS_ANNOTATION, NULL },
    { "AITHERION_MEMORY", "aitherion.io/memory-of-each-gpu", NULL },
    { "AITHERION_SHARE", "aitherion.io/share-of-each-gpu", NULL },
    { "AITHERION_KEY_FILE", NULL, KEY_FOLDER "/key" },
    { LIBRARY_PATH, NULL, LIBRARY_FOLDER },
};

/* ---- lists of named objects ---- */

static const char *name_of(const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    return name ? name : "";
}

static const json_t *entry_of(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(name_of(json_array_get(list, i)), name))
            return json_array_get(list, i);
    return NULL;
}

/* Returns a list without the entries that ours has by name, and with ours: first if is_first, else
 * last. Takes ours. */
static json_t *joined(const json_t *list, json_t *ours, bool is_first)
{
    json_t *others = json_array();

    for (size_t i = 0; i < json_array_size(list); i++)
        if (!entry_of(ours, name_of(json_array_get(list, i))))
            json_array_append(others, json_array_get(list, i));
    json_t *all = is_first ? ours : others;
    json_array_extend(all, is_first ? others : ours);
    json_decref(is_first ? others : ours);
    return all;
}

/* Adds the operation that sets a member, unless it is so already. Takes value. */
static void set(json_t *patch, const char *path, const json_t *old, json_t *value)
{
    if (!old || !json_equal(old, value))
        json_array_append_new(
            patch, json_pack("{s:s, s:s, s:O}", "op", "add", "path", path, "value", value));
    json_decref(value);
}

/* ---- containers ---- */

static json_t *variable_of(const struct variable *variable, const json_t *environment)
{
    const json_t *old = entry_of(environment, variable->name);
    const char *value = json_string_value(json_object_get(old, "value"));

    if (variable->annotation) {
        ath_auto_free char *path =
            ath_xasprintf("metadata.annotations['%s']", variable->annotation);
        return json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", variable->name, "valueFrom", "fieldRef",
                         "apiVersion", "v1", "fieldPath", path);
    }
    if (strcmp(variable->name, LIBRARY_PATH) != 0 || !value || !*value)
        return json_pack("{s:s, s:s}", "name", variable->name, "value", variable->value);
    if (ath_starts_with(value, LIBRARY_FOLDER))
        return json_pack("{s:s, s:s}", "name", variable->name, "value", value);
    ath_auto_free char *both = ath_xasprintf("%s:%s", variable->value, value);
    return json_pack("{s:s, s:s}", "name", variable->name, "value", both);
}

/* Ours come first, so that the container's own may refer to them. */
static json_t *environment_of(const json_t *container)
{
    const json_t *old = json_object_get(container, "env");
    json_t *ours = json_array();

    for (size_t i = 0; i < ATH_COUNT(variables); i++)
        json_array_append_new(ours, variable_of(&variables[i], old));
    return joined(old, ours, true);
}

static json_t *mounts_of(const json_t *container)
{
    json_t *ours = json_pack("[{s:s, s:s, s:b}, {s:s, s:s, s:b}]", "name", LIBRARY, "mountPath",
                             LIBRARY_FOLDER, "readOnly", 1, "name", KEY, "mountPath", KEY_FOLDER,
                             "readOnly", 1);
    return joined(json_object_get(container, "volumeMounts"), ours, false);
}

/* Returns a container with what it gets. */
static json_t *changed(const json_t *container)
{
    json_t *copy = json_deep_copy(container);
    if (ath_kube_asks_for_gpus(container)) {
        json_object_set_new(copy, "env", environment_of(container));
        json_object_set_new(copy, "volumeMounts", mounts_of(container));
    }
    return copy;
}

static json_t *all_changed(const json_t *containers)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(containers); i++)
        json_array_append_new(list, changed(json_array_get(containers, i)));
    return list;
}

/* ---- the pod ---- */

/* Copies the libraries, and those that they need for encryption, except glibc's: these must be the
 * container's own. */
static const char copy_command[] =
    "set -e; for library in /usr/lib/*/aitherion/*.so.1 /usr/lib/*/libgnutls.so.30 "
    "$(ldd /usr/lib/*/aitherion/libcuda.so.1 /usr/lib/*/libgnutls.so.30 | "
    "sed -n 's|.*=> \\(/[^ ]*\\) .*|\\1|p' | grep -vE '/lib(c|m|dl|pthread|rt)[.]so' | sort -u); "
    "do cp -L \"$library\" \"$0\"; done";

/* Limits equal requests, so that the pod can be of class Guaranteed. */
static json_t *copier_of(const struct ath_kube_injection *injection)
{
    json_t *resources = json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "limits", "cpu", "100m", "memory",
                                  "64Mi", "requests", "cpu", "100m", "memory", "64Mi");
    json_t *security =
        json_pack("{s:b, s:b, s:b, s:i, s:{s:[s]}, s:{s:s}}", "allowPrivilegeEscalation", 0,
                  "readOnlyRootFilesystem", 1, "runAsNonRoot", 1, "runAsUser", 65534,
                  "capabilities", "drop", "ALL", "seccompProfile", "type", "RuntimeDefault");
    return json_pack("{s:s, s:s, s:[s, s, s, s], s:o, s:o, s:[{s:s, s:s}]}", "name", LIBRARY,
                     "image", injection->image, "command", "/bin/sh", "-c", copy_command,
                     LIBRARY_FOLDER, "resources", resources, "securityContext", security,
                     "volumeMounts", "name", LIBRARY, "mountPath", LIBRARY_FOLDER);
}

static json_t *volumes_of(const json_t *spec, const struct ath_kube_injection *injection)
{
    json_t *ours =
        json_pack("[{s:s, s:{s:s}}, {s:s, s:{s:s}}]", "name", LIBRARY, "emptyDir", "sizeLimit",
                  "64Mi", "name", KEY, "secret", "secretName", injection->secret);
    return joined(json_object_get(spec, "volumes"), ours, false);
}

static void add_library(json_t *patch, const json_t *spec,
                        const struct ath_kube_injection *injection)
{
    const json_t *first = json_object_get(spec, "initContainers");
    const json_t *others = json_object_get(spec, "containers");
    json_auto_t *changed_first = all_changed(first);

    set(patch, "/spec/volumes", json_object_get(spec, "volumes"), volumes_of(spec, injection));
    set(patch, "/spec/initContainers", first,
        joined(changed_first, json_pack("[o]", copier_of(injection)), true));
    set(patch, "/spec/containers", others, all_changed(others));
}

static void add_scheduler(json_t *patch, const json_t *spec,
                          const struct ath_kube_injection *injection)
{
    const char *name = json_string_value(json_object_get(spec, "schedulerName"));

    if (injection->scheduler && (!name || !*name || !strcmp(name, default_scheduler)))
        set(patch, "/spec/schedulerName", NULL, json_string(injection->scheduler));
}

static bool asks_for_gpus(const json_t *spec)
{
    static const char *const lists[] = { "containers", "initContainers" };
    for (size_t i = 0; i < ATH_COUNT(lists); i++) {
        const json_t *containers = json_object_get(spec, lists[i]);
        for (size_t n = 0; n < json_array_size(containers); n++)
            if (ath_kube_asks_for_gpus(json_array_get(containers, n)))
                return true;
    }
    return false;
}

json_t *ath_kube_inject(const json_t *pod, const struct ath_kube_injection *injection)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *annotations = json_object_get(json_object_get(pod, "metadata"), "annotations");
    const char *wish = json_string_value(json_object_get(annotations, "aitherion.io/inject"));
    json_t *patch = json_array();

    if (!asks_for_gpus(spec))
        return patch;
    add_scheduler(patch, spec, injection);
    if (!wish || strcmp(wish, "false") != 0)
        add_library(patch, spec, injection);
    return patch;
}
