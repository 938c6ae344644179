/*
 * Turns plans into request bodies of the Docker Engine API (POST /containers/create, version 1.41
 * and later; fields of later versions are not used).
 *
 * A body leaves out the name (a parameter of the request) and the macvlan (moved into the pause
 * container when that runs).
 */
#pragma once
#include <jansson.h>

#include "container/plan/plan.h"

enum ath_docker_role { ATH_DOCKER_PAUSE, ATH_DOCKER_RUNTIME };

/* "pause", "runtime": the value of the label aitherion.role. */
const char *ath_docker_role_word(enum ath_docker_role role);

/* Returns the container's name, or NULL for the pause container of a node without one. The text
 * belongs to node. */
const char *ath_docker_name(const struct ath_plan_node *node, enum ath_docker_role role);

/* Returns a new reference, or NULL if ath_docker_name() does. image: plan.image. */
json_t *ath_docker_body(const struct ath_plan_node *node, const char *image,
                        enum ath_docker_role role);

/*
 * Returns 16 hexadecimal digits that differ if bodies differ, the value of the label
 * aitherion.plan. Labels and sizes that follow from the machine's memory do not count. A container
 * with another fingerprint does not match the document any more. The caller frees the text. NULL
 * if ath_docker_name() is.
 */
char *ath_docker_fingerprint(const struct ath_plan_node *node, const char *image,
                             enum ath_docker_role role);

/*
 * The same for the runtime, without the settings that can be changed while it runs: the memory
 * limit and the share of GPU memory. The value of the label aitherion.base. A running container
 * with another base must be restarted. The caller frees the text.
 */
char *ath_docker_base(const struct ath_plan_node *node, const char *image);
