/* Reading the Docker Engine's answers: what is missing, null or of another type is unknown. Private
 * to container. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"

/* The text that a dotted path leads to ("State.Health.Status"); NULL where there is none, or an
 * empty one. It belongs to json. */
const char *ath_docker_json_text(const json_t *json, const char *path);

/* The same as a copy, which the caller frees. */
char *ath_docker_json_copy(const json_t *json, const char *path);

int64_t ath_docker_json_number(const json_t *json, const char *path, int64_t missing);
bool ath_docker_json_is_true(const json_t *json, const char *path);
json_t *ath_docker_json_at(const json_t *json, const char *path); /* borrowed; NULL */

/* Adds the texts of a list. */
void ath_docker_json_texts(const json_t *list, struct ath_texts *out);

/* -EBADMSG with err "engine-invalid": an answer without what it must have. */
int ath_docker_json_lacks(const char *answer, const char *path, struct ath_err *err);
