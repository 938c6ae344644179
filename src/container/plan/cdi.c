/* Reads CDI specifications. */
#include "config.h"

#include "container/plan/cdi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/unknown.h"

/* The default folders of container-device-interface/pkg/cdi; Docker uses the same two. */
static const char *const folders[] = { "etc/cdi", "var/run/cdi" };

/* The characters of a device's name (SPEC.md, "name"). */
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:"

void ath_cdi_free(struct ath_cdi *cdi)
{
    if (!cdi)
        return;
    for (size_t i = 0; i < cdi->count; i++)
        free(cdi->devices[i].name);
    free(cdi->devices);
    free(cdi->driver_version);
    free(cdi->file);
    *cdi = (struct ath_cdi){ 0 };
}

static const char *text_of(const struct ath_yaml *mapping, const char *key)
{
    const struct ath_yaml *value = ath_yaml_get(mapping, key);
    return value && value->kind == ATH_YAML_SCALAR ? value->text : NULL;
}

/* Returns N for "/dev/nvidiaN"; ATH_UNKNOWN for other paths ("/dev/nvidiactl"). */
static int minor_of(const char *path)
{
    static const char prefix[] = "/dev/nvidia";
    int minor;

    if (!path || !ath_starts_with(path, prefix) ||
        ath_parse_int(path + sizeof prefix - 1, 0, INT_MAX, &minor))
        return ATH_UNKNOWN;
    return minor;
}

static int only_minor(const struct ath_yaml *device)
{
    const struct ath_yaml *nodes =
        ath_yaml_get(ath_yaml_get(device, "containerEdits"), "deviceNodes");
    int found = ATH_UNKNOWN;

    for (size_t i = 0; nodes && i < nodes->child_count; i++) {
        const char *host = text_of(&nodes->children[i], "hostPath");
        int minor = minor_of(host ? host : text_of(&nodes->children[i], "path"));
        if (minor == ATH_UNKNOWN || minor == found)
            continue;
        if (found != ATH_UNKNOWN)
            return ATH_UNKNOWN;
        found = minor;
    }
    return found;
}

static void add_device(const struct ath_yaml *device, struct ath_cdi *out)
{
    const char *name = text_of(device, "name");
    if (!name || !*name || name[strspn(name, NAME_CHARACTERS)])
        return;
    struct ath_cdi_device *added = ath_push(&out->devices, &out->count, sizeof *added);
    added->name = ath_xasprintf("%s=%s", ATH_CDI_KIND, name);
    added->minor = only_minor(device);
}

/* A specification contains the full names of the libraries: ".../libcuda.so.535.104.05". */
static char *version_in(const char *text)
{
    static const char stem[] = "libcuda.so.";

    for (const char *at = text; (at = strstr(at, stem)); at++) {
        const char *version = at + sizeof stem - 1;
        size_t length = strspn(version, "0123456789.");
        if (memchr(version, '.', length))
            return strndup(version, length);
    }
    return NULL;
}

static void read_file(const struct ath_root *root, const char *folder, const char *name,
                      struct ath_cdi *out)
{
    ath_auto_free char *text = ath_root_read(root, "%s/%s", folder, name);
    ATH_AUTO(ath_faults) unused = { 0 };
    ATH_AUTO(ath_yaml) yaml = { 0 };

    if (!text || !ath_yaml_parse(text, strlen(text), &yaml, &unused))
        return;
    const char *kind = text_of(&yaml, "kind");
    const struct ath_yaml *devices = ath_yaml_get(&yaml, "devices");
    if (!kind || strcmp(kind, ATH_CDI_KIND) || !devices || devices->kind != ATH_YAML_LIST)
        return;
    for (size_t i = 0; i < devices->child_count; i++)
        add_device(&devices->children[i], out);
    if (!out->driver_version && (out->driver_version = version_in(text)))
        out->file = ath_xasprintf("/%s/%s", folder, name);
}

static bool is_specification(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".json"));
}

void ath_cdi_read(const struct ath_root *root, struct ath_cdi *out)
{
    *out = (struct ath_cdi){ 0 };
    for (size_t i = 0; i < ATH_COUNT(folders); i++) {
        char **names;
        size_t count;
        ath_root_list(root, folders[i], &names, &count);
        for (size_t j = 0; j < count; j++)
            if (is_specification(names[j]))
                read_file(root, folders[i], names[j], out);
        ath_names_free(names, count);
    }
}

const char *ath_cdi_find(const struct ath_cdi *cdi, const char *uuid, int minor)
{
    static const size_t prefix = sizeof ATH_CDI_KIND; /* with the "=" */

    for (size_t i = 0; uuid && i < cdi->count; i++)
        if (!strcmp(cdi->devices[i].name + prefix, uuid))
            return cdi->devices[i].name;
    for (size_t i = 0; minor != ATH_UNKNOWN && i < cdi->count; i++)
        if (cdi->devices[i].minor == minor && strcmp(cdi->devices[i].name + prefix, "all") != 0)
            return cdi->devices[i].name;
    return NULL;
}
