/* Reads the Docker Engine's answers. A member that is missing, null or of another type is unknown.
 * Private to container. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"

/* Returns the text at a dotted path ("State.Health.Status"), or NULL if it is missing or empty. The
 * text belongs to json. */
const char *ath_docker_json_text(const json_t *json, const char *path);

/* Returns a copy of that text, which the caller frees. */
char *ath_docker_json_copy(const json_t *json, const char *path);

int64_t ath_docker_json_number(const json_t *json, const char *path, int64_t missing);
bool ath_docker_json_is_true(const json_t *json, const char *path);
json_t *ath_docker_json_at(const json_t *json, const char *path); /* borrowed; NULL */

/* Adds the texts of a JSON list to out. */
void ath_docker_json_texts(const json_t *list, struct ath_texts *out);

/* Returns -EBADMSG with err "engine-invalid": the answer lacks a required member. */
int ath_docker_json_lacks(const char *answer, const char *path, struct ath_err *err);
