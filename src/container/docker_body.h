/*
 * Plans as request bodies of the Docker Engine API (POST /containers/create, version 1.41 and
 * later: fields that came later are not used).
 *
 * Not in them, because they are set by the daemon's answer or afterwards: the name (a parameter of
 * the request) and the macvlan (moved in when the pause container runs).
 */
#pragma once
#include <jansson.h>

#include "container/plan.h"

enum ath_docker_role { ATH_DOCKER_PAUSE, ATH_DOCKER_RUNTIME };

/* "pause", "runtime": the value of the label aitherion.role. */
const char *ath_docker_role_word(enum ath_docker_role role);

/* The container's name, or NULL for the pause container of a node that has none. Belongs to node.
 */
const char *ath_docker_name(const struct ath_plan_node *node, enum ath_docker_role role);

/* The body: a new reference, or NULL as above. image: plan.image. */
json_t *ath_docker_body(const struct ath_plan_node *node, const char *image,
                        enum ath_docker_role role);

/*
 * 16 hexadecimal digits that differ where a body does, labels and what follows from the machine's
 * present memory aside: the label aitherion.plan. What runs with another one is not what the
 * document asks for now. The caller frees it; NULL as above.
 */
char *ath_docker_fingerprint(const struct ath_plan_node *node, const char *image,
                             enum ath_docker_role role);
