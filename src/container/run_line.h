/*
 * Plans as commands that a person may type: what `start` does, as far as a shell can do it.
 *
 * The commands are made from the very request bodies, so that they say the same. Two differences
 * remain: `docker run` has no health check without a shell (the image brings its own), and
 * --pull=never keeps Docker from looking for the image elsewhere.
 */
#pragma once
#include <jansson.h>

#include "base/text.h"
#include "container/plan.h"

/* A word as a shell takes it for that word: plain, else in single quotes. */
void ath_shell_quote(struct ath_text *out, const char *word);

/* `docker run` for a body of docker_body.h, options a line each; NULL where the body has a field
 * that it does not know (*out_field then says which; it belongs to body). The caller frees it. */
char *ath_run_line(const char *name, const json_t *body, const char **out_field);

/*
 * All commands for a node, in order: its folder and the key, the pause container and the macvlans
 * in it where it has them, then the runtime; for the process engine numactl with the runtime's
 * command. The caller frees the array and the texts (ath_names_free() of base/root.h).
 */
void ath_run_lines(const struct ath_plan *plan, const struct ath_plan_node *node, char ***out,
                   size_t *out_count);
