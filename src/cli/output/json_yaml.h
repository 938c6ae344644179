/* JSON values written as YAML. */
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "base/err.h"

/*
 * Writes value as one YAML document that loads back to the same value, also by a YAML 1.1 reader:
 * strings that it would take for a number, a date or a boolean are quoted. Returns 0 or a negative
 * errno with err.
 */
int ath_json_write_yaml(const json_t *value, FILE *out, struct ath_err *err);
