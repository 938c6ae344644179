/*
 * Turns plans into commands that a person can type: the part of `start` that a shell can do.
 *
 * The commands come from the same request bodies as `start` uses. Two differences remain: `docker
 * run` cannot set a health check without a shell (the image brings its own), and --pull=never keeps
 * Docker from looking for the image in a registry.
 */
#pragma once
#include <jansson.h>

#include "base/text.h"
#include "container/plan/plan.h"

/* Adds a word quoted for a shell: as is, or in single quotes. */
void ath_shell_quote(struct ath_text *out, const char *word);

/* Returns the `docker run` line for a body of body.h, one option a line; the caller frees it. If
 * the body has an unknown field, returns NULL and sets *out_field to its name, which belongs to
 * body. */
char *ath_run_line(const char *name, const json_t *body, const char **out_field);

/*
 * Lists all commands for a node, in order: the node's folder, its rows of identities (a line each;
 * "": none) and key, the pause container and its
 * macvlans if the node has them, then the runtime. For the process engine the last command is
 * numactl with the runtime's command. The caller frees the array and the texts with
 * ath_names_free() of base/root.h.
 */
void ath_run_lines(const struct ath_plan *plan, const struct ath_plan_node *node, const char *rows,
                   char ***out, size_t *out_count);
