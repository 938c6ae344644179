/* JSON values for the fields of our models: unknown becomes null, strange text becomes harmless. */
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "config/schema.h"

/* Text as a string (made harmless, see clean.h); NULL becomes null. A new reference. */
json_t *ath_json_text(const char *text);

/* The same for a text of many lines: newlines and tabs stay. */
json_t *ath_json_lines(const char *text);

/* A list of texts. A new reference. */
json_t *ath_json_texts(const struct ath_texts *texts);

/* A number; negative (ATH_UNKNOWN) becomes null. A new reference. */
json_t *ath_json_number(int64_t number);
