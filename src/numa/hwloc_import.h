/* libhwloc, loaded when a topology file of hwloc is read. */
#pragma once
#include <hwloc.h>

#include "base/err.h"
#include "base/late.h"
#include "base/text.h"

#define ATH_HWLOC_FUNCTIONS(F)                                                                     \
    F(hwloc_topology_init)                                                                         \
    F(hwloc_topology_set_flags)                                                                    \
    F(hwloc_topology_set_io_types_filter)                                                          \
    F(hwloc_topology_set_xmlbuffer)                                                                \
    F(hwloc_topology_load)                                                                         \
    F(hwloc_topology_destroy)                                                                      \
    F(hwloc_topology_get_allowed_cpuset)                                                           \
    F(hwloc_get_type_depth)                                                                        \
    F(hwloc_get_obj_by_depth)                                                                      \
    F(hwloc_bitmap_next)                                                                           \
    F(hwloc_bitmap_next_unset)                                                                     \
    F(hwloc_distances_get)                                                                         \
    F(hwloc_distances_get_name)                                                                    \
    F(hwloc_distances_release)

struct ath_hwloc {
    ATH_HWLOC_FUNCTIONS(ATH_LATE_MEMBER)
};

/* Loads the library, which stays loaded. Returns 0, or -ENOENT "library-missing" with err. */
int ath_hwloc_open(struct ath_hwloc *out, struct ath_err *err);

/*
 * Makes a topology from an XML text, independent of the user's hwloc environment variables. The
 * text is first tried in a child process, so a text that makes the library crash, hang or use too
 * much memory is refused. The environment is replaced for a moment: not for a program with several
 * threads.
 *
 * name is the file's name, for messages. Returns 0 with *out, which the caller releases with
 * hwloc_topology_destroy(), or a negative errno with err.
 */
int ath_hwloc_import(const struct ath_hwloc *hwloc, const char *name, const struct ath_text *xml,
                     hwloc_topology_t *out, struct ath_err *err);
