/*
 * The NVIDIA GPUs of Container Device Interface specifications: what names they have there.
 *
 * A specification is a YAML or JSON file in /etc/cdi or /var/run/cdi (CNCF CDI, SPEC.md: "kind",
 * "devices[].name", "devices[].containerEdits.deviceNodes[].path"). nvidia-ctk names a GPU by its
 * index or its UUID as it is told to, so a name alone does not tell which GPU it is: its UUID or
 * its device node does.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/root.h"
#include "config/yaml.h"

#define ATH_CDI_KIND "nvidia.com/gpu"

struct ath_cdi_device {
    char *name; /* "nvidia.com/gpu=0" */
    int minor;  /* of its only /dev/nvidiaN; ATH_UNKNOWN where it has none or several */
};

struct ath_cdi {
    struct ath_cdi_device *devices;
    size_t count;
    char *driver_version; /* of the libraries that the specification binds, "535.104.05"; or NULL */
    char *file;           /* where that stands: "/etc/cdi/nvidia.yaml"; or NULL */
};

/* Reads all specifications; files that are no YAML, or of other kinds, are passed over. */
void ath_cdi_read(const struct ath_root *root, struct ath_cdi *out);
void ath_cdi_free(struct ath_cdi *cdi);

/* The full name of a GPU, by its UUID, else by its minor; NULL where no specification has it. */
const char *ath_cdi_find(const struct ath_cdi *cdi, const char *uuid, int minor);
