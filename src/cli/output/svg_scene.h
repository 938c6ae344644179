/*
 * Where everything stands in the picture of a machine.
 *
 * NUMA nodes are boxes, side by side in as many rows as the width asks for. In a node stand, from
 * top to bottom: its name, room for links between GPUs, the GPUs, room for the lines to the nearest
 * ports, and the ports, card by card. All boxes of a row have these zones at one height, so that
 * links may run through.
 */
#pragma once
#include "cli/output/outline.h"
#include "cli/output/svg.h"

enum {
    ATH_SCENE_MARGIN = 24,
    ATH_SCENE_PADDING = 14,   /* within a node */
    ATH_SCENE_GAP = 12,       /* between devices */
    ATH_SCENE_DEVICE = 140,   /* width of a device */
    ATH_SCENE_LINE = 14,      /* height of a line of text */
    ATH_SCENE_COLUMNS = 8,    /* devices side by side in a node */
    ATH_SCENE_NODE_LINES = 4, /* nodes whose distances are lines; for more there is a table */
    ATH_SCENE_LINES_MAX = 7,  /* of text in a device */
};

/* GPUs of one node and the ports that are nearest to all of them. */
struct ath_scene_bus {
    size_t *gpus, *nics; /* indexes into the machine's arrays */
    size_t gpu_count, nic_count;
    enum ath_pci_class class;
    int left, right; /* of the horizontal line */
    int track;       /* its place among the lines above one another */
};

struct ath_scene_node {
    const struct ath_group *group;
    struct ath_svg_box box;
    size_t row;
    size_t *nics; /* those that are drawn, card by card */
    size_t nic_count, hidden_nics;
    struct ath_scene_bus *buses;
    size_t bus_count;
    int tracks;
};

/* What a row of nodes has in common: heights of the zones, and where they begin. */
struct ath_scene_row {
    size_t first, count; /* of nodes */
    int y, link_height, gpu_height, gpu_lines, bus_height, nic_height;
    int gpu_y, bus_y, nic_y, height;
};

enum ath_scene_links {
    ATH_SCENE_NO_LINKS,
    ATH_SCENE_ARCS,   /* one line a pair of GPUs */
    ATH_SCENE_FABRIC, /* every GPU reaches every other alike: one bar */
};

struct ath_scene {
    const struct ath_machine *machine;
    const struct ath_outline *outline;
    struct ath_scene_node *nodes;
    size_t node_count;
    struct ath_scene_row *rows;
    size_t row_count;
    struct ath_svg_box *gpus, *nics; /* by index of the machine; width 0 where not drawn */
    bool *has_bus;                   /* by GPU: its nearest port is told by a line */
    size_t *gpu_rows;                /* by GPU: the row of its node */
    size_t *gpu_slots;               /* by GPU: its place in that row, for the height of arcs */
    enum ath_scene_links links;
    int width, bottom; /* bottom of the last row */
};

void ath_scene_make(const struct ath_outline *outline, struct ath_scene *out);
void ath_scene_free(struct ath_scene *scene);

/* Whether two ports are on one card. */
bool ath_scene_is_one_card(const struct ath_nic *a, const struct ath_nic *b);

/* Whether a port stands in a frame, because its card has more functions than this one. */
bool ath_scene_is_framed(const struct ath_scene *scene, size_t nic);

/* Whether distances are lines from node to node; they are a table otherwise. */
bool ath_scene_has_distance_lines(const struct ath_scene *scene);

/* The lines of text in a GPU's box, below its name; returns how many. The caller frees each. */
size_t ath_scene_gpu_lines(const struct ath_scene *scene, size_t gpu,
                           char *out[ATH_SCENE_LINES_MAX]);

/* Links between two GPUs that are drawn as an arc, or 0; ATH_UNKNOWN for some. */
int ath_scene_arc(const struct ath_scene *scene, size_t a, size_t b);

/* How high an arc rises above its GPUs. */
int ath_scene_arc_height(const struct ath_scene *scene, size_t a, size_t b);
