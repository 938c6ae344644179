/*
 * The positions of everything in the picture of a machine.
 *
 * NUMA nodes are boxes, side by side, in as many rows as the width needs. A node contains, from top
 * to bottom: its name, room for links between GPUs, the GPUs, room for the lines to the nearest
 * ports, and the ports, card by card. These zones have the same height in all boxes of a row, so
 * that links can cross from box to box.
 */
#pragma once
#include "cli/output/machine/marks.h"
#include "cli/output/machine/outline.h"
#include "cli/output/machine/svg_writer.h"

enum {
    ATH_SCENE_MARGIN = 24,
    ATH_SCENE_PADDING = 14,   /* inside a node */
    ATH_SCENE_GAP = 12,       /* between devices */
    ATH_SCENE_DEVICE = 140,   /* width of a device */
    ATH_SCENE_LINE = 14,      /* height of a line of text */
    ATH_SCENE_COLUMNS = 8,    /* devices side by side in a node */
    ATH_SCENE_NODE_LINES = 4, /* at most this many nodes have distance lines; more, a table */
    ATH_SCENE_LINES_MAX = 14, /* lines of text in a device */
    ATH_SCENE_TEXT = ATH_SCENE_DEVICE - 14, /* width of a line of text in a device */
};

/* GPUs of one node that have the same nearest ports, and these ports. */
struct ath_scene_bus {
    size_t *gpus, *nics; /* indexes into the machine's arrays */
    size_t gpu_count, nic_count;
    enum ath_pci_class class;
    int left, right; /* ends of the horizontal line */
    int track;       /* 0 for the uppermost horizontal line, 1 for the next, ... */
};

struct ath_scene_node {
    const struct ath_group *group;
    struct ath_svg_box box;
    size_t row;
    size_t *nics; /* the ports that are drawn, card by card */
    size_t nic_count, hidden_nics;
    struct ath_scene_bus *buses;
    size_t bus_count;
    int tracks;
};

/* The heights and tops of the zones of a row of nodes. */
struct ath_scene_row {
    size_t first, count; /* the nodes of the row */
    int y, link_height, gpu_height, gpu_lines, bus_height, nic_height;
    int gpu_y, bus_y, nic_y, height;
};

enum ath_scene_links {
    ATH_SCENE_NO_LINKS,
    ATH_SCENE_ARCS,   /* one line for each pair of GPUs */
    ATH_SCENE_FABRIC, /* the GPUs reach each other equally: one bar */
};

struct ath_scene {
    const struct ath_machine *machine;
    const struct ath_outline *outline;
    const struct ath_marks *marks; /* GPUs that stand out; NULL: none */
    struct ath_scene_node *nodes;
    size_t node_count;
    struct ath_scene_row *rows;
    size_t row_count;
    struct ath_svg_box *gpus, *nics; /* by index in the machine; width 0 if not drawn */
    bool *has_bus;                   /* by GPU: a line leads to its nearest port */
    size_t *gpu_rows;                /* by GPU: the row of its node */
    size_t *gpu_slots;               /* by GPU: its place in that row, for the height of arcs */
    enum ath_scene_links links;
    int width, bottom; /* bottom of the last row */
};

/* Makes a scene. The outline and the marks (which may be NULL) must outlive *out; release with
 * ath_scene_free(). */
void ath_scene_make(const struct ath_outline *outline, const struct ath_marks *marks,
                    struct ath_scene *out);
void ath_scene_free(struct ath_scene *scene);

/* Returns whether a port is drawn in a frame, because its card has several functions. */
bool ath_scene_is_framed(const struct ath_scene *scene, size_t nic);

/* Returns whether distances are drawn as lines from node to node; otherwise as a table. */
bool ath_scene_has_distance_lines(const struct ath_scene *scene);

/* Makes the lines of text below the name in a GPU's box; the first *out_models of them are its
 * model. Returns their number; the caller frees each. */
size_t ath_scene_gpu_lines(const struct ath_scene *scene, size_t gpu,
                           char *out[ATH_SCENE_LINES_MAX], size_t *out_models);

/* Returns the line of text below a node's name: its CPUs and memory. If the ids of the CPUs do not
 * fit into a box, only their number is shown. The caller frees the text. */
char *ath_scene_node_facts(const struct ath_numa_node *node);

/* Returns whether the bar of links joins the GPU. A GPU may have lost its links to the switches. */
bool ath_scene_is_on_fabric(const struct ath_scene *scene, size_t gpu);

/*
 * The number of links between two GPUs that one arc shows; ATH_UNKNOWN if their number is not
 * known. 0 if no arc is drawn.
 */
int ath_scene_arc(const struct ath_scene *scene, size_t a, size_t b);

/* The height of an arc above its GPUs. */
int ath_scene_arc_height(const struct ath_scene *scene, size_t a, size_t b);
