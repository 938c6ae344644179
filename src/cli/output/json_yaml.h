/* JSON values written as YAML. */
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "base/err.h"

/*
 * Writes value as one YAML document. YAML 1.1 and 1.2 readers load the same value from it: strings
 * that look like a number, a date or a boolean are quoted. Returns 0, or a negative errno with err
 * filled.
 */
int ath_json_write_yaml(const json_t *value, FILE *out, struct ath_err *err);
