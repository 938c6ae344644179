/*
 * The names of NVIDIA's GPUs in Container Device Interface specifications.
 *
 * A specification is a YAML or JSON file in /etc/cdi or /var/run/cdi (CNCF CDI, SPEC.md: "kind",
 * "devices[].name", "devices[].containerEdits.deviceNodes[].path"). nvidia-ctk names a GPU by its
 * index or its UUID, as its user chooses. A name alone therefore does not identify a GPU; its UUID
 * or its device node does.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/root.h"
#include "config/yaml.h"

#define ATH_CDI_KIND "nvidia.com/gpu"

struct ath_cdi_device {
    char *name; /* "nvidia.com/gpu=0" */
    int minor;  /* of its only /dev/nvidiaN; ATH_UNKNOWN if it has none or several */
};

struct ath_cdi {
    struct ath_cdi_device *devices;
    size_t count;
    char *driver_version; /* of the libraries that a specification binds, "535.104.05"; NULL */
    char *file;           /* the specification with that version: "/etc/cdi/nvidia.yaml"; NULL */
};

/* Reads all specifications; ignores files that are not YAML or of another kind. */
void ath_cdi_read(const struct ath_root *root, struct ath_cdi *out);
void ath_cdi_free(struct ath_cdi *cdi);

/* Returns the full name of a GPU, found by its UUID, otherwise by its minor number; NULL if no
 * specification has it. */
const char *ath_cdi_find(const struct ath_cdi *cdi, const char *uuid, int minor);
