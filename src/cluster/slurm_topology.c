/* Slurm's topology.conf: SwitchName=NAME Nodes=LIST | Switches=LIST [LinkSpeed=N]. */
#include "config.h"

#include "cluster/slurm_topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cluster/hostlist.h"

struct line {
    char *name, *nodes, *switches; /* point into the text of the file */
    int number;
};

struct lines {
    struct line *items;
    size_t count;
};

static void lines_free(struct lines *lines)
{
    free(lines->items);
}

static int refuse(const char *file, int number, const char *why, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_CLUSTER_INVALID, "%s:%d: %s", file, number, why);
    return ath_err_hint(err, -EINVAL, "man topology.conf");
}

/* Reads "Key=Value" into the line. Returns false for a key that a tree does not have. */
static bool take_word(struct line *line, char *word)
{
    char *value = strchr(word, '=');

    if (!value)
        return false;
    *value++ = '\0';
    if (!strcasecmp(word, "SwitchName"))
        line->name = value;
    else if (!strcasecmp(word, "Nodes"))
        line->nodes = value;
    else if (!strcasecmp(word, "Switches"))
        line->switches = value;
    else if (strcasecmp(word, "LinkSpeed") != 0) /* Slurm ignores it, too */
        return false;
    return true;
}

static int read_line(const char *file, char *text, int number, struct lines *lines,
                     struct ath_err *err)
{
    struct line line = { .number = number };
    char *rest = NULL;

    text[strcspn(text, "#")] = '\0';
    char *word = strtok_r(text, " \t\r", &rest);
    if (!word)
        return 0;
    for (; word; word = strtok_r(NULL, " \t\r", &rest))
        if (!take_word(&line, word))
            return refuse(file, number, _("not a line of a tree of switches (SwitchName=...)"),
                          err);
    if (!line.name || !line.nodes == !line.switches)
        return refuse(file, number, _("a switch needs SwitchName, and Nodes or Switches"), err);
    struct line *slot = ath_push(&lines->items, &lines->count, sizeof *slot);
    *slot = line;
    return 0;
}

static int read_lines(const char *file, char *text, struct lines *lines, struct ath_err *err)
{
    int number = 0, status = 0;

    for (char *next = text; next && !status;) {
        char *line = next;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        status = read_line(file, line, ++number, lines, err);
    }
    return status;
}

static int expand(const char *file, const struct line *line, const char *list,
                  struct ath_texts *out, struct ath_err *err)
{
    struct ath_err cause = { 0 };
    int status = ath_hostlist_expand(list, out, &cause);
    return status ? refuse(file, line->number, cause.message, err) : 0;
}

static int add_nodes(const char *file, const struct line *line, size_t leaf,
                     struct ath_cluster *cluster, struct ath_err *err)
{
    ATH_AUTO(ath_texts) names = { 0 };
    int status = expand(file, line, line->nodes, &names, err);

    for (size_t i = 0; !status && i < names.count; i++) {
        if (cluster->node_count >= ATH_CLUSTER_NODES_MAX)
            return refuse(file, line->number, _("too many nodes"), err);
        size_t node = ath_cluster_add_node(cluster, names.items[i]);
        cluster->nodes[node].leaf = leaf;
    }
    return status;
}

static int connect_switches(const char *file, const struct line *line, size_t above,
                            struct ath_cluster *cluster, struct ath_err *err)
{
    ATH_AUTO(ath_texts) names = { 0 };
    int status = expand(file, line, line->switches, &names, err);

    for (size_t i = 0; !status && i < names.count; i++) {
        size_t below = ath_cluster_find_switch(cluster, names.items[i]);
        if (below == ATH_CLUSTER_NONE || cluster->switches[below].above != ATH_CLUSTER_NONE) {
            ath_auto_free char *why =
                below == ATH_CLUSTER_NONE
                    ? ath_xasprintf(_("no line has the switch '%s'"), names.items[i])
                    : ath_xasprintf(_("two switches are above the switch '%s'"), names.items[i]);
            return refuse(file, line->number, why, err);
        }
        cluster->switches[below].above = above;
    }
    return status;
}

int ath_slurm_topology_add(const char *name, const char *text, struct ath_cluster *cluster,
                           struct ath_err *err)
{
    ATH_AUTO(lines) lines = { 0 };
    ath_auto_free char *copy = ath_xstrdup(text);
    size_t first = cluster->switch_count;
    int status = read_lines(name, copy, &lines, err);

    for (size_t i = 0; !status && i < lines.count; i++)
        ath_cluster_add_switch(cluster, lines.items[i].name);
    for (size_t i = 0; !status && i < lines.count; i++)
        status = lines.items[i].nodes
                     ? add_nodes(name, &lines.items[i], first + i, cluster, err)
                     : connect_switches(name, &lines.items[i], first + i, cluster, err);
    return status;
}

bool ath_slurm_topology_is(const char *text)
{
    static const char *const words[] = { "SwitchName=", "BlockName=" };

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, " \t\r\n");
        for (size_t i = 0; i < ATH_COUNT(words); i++)
            if (!strncasecmp(line, words[i], strlen(words[i])))
                return true;
    }
    return false;
}
