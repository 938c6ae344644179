/*
 * JSON values for the fields of our structs: unknown becomes null, foreign text becomes harmless
 * (clean.h). Each function returns a new reference.
 */
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "base/idset.h"
#include "config/schema.h"

/* Text of one line; NULL becomes null. */
json_t *ath_json_text(const char *text);

/* Text of several lines: newlines and tabs are kept. NULL becomes null. */
json_t *ath_json_lines(const char *text);

/* A list of texts. */
json_t *ath_json_texts(const struct ath_texts *texts);

/* A number; a negative one (ATH_UNKNOWN) becomes null. */
json_t *ath_json_number(int64_t number);

/* A list of numbers. */
json_t *ath_json_ids(const struct ath_idset *ids);
