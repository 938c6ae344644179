/*
 * Reads a machine from the JSON that `aitherion discover --json` prints (aitherion.machine/1): the
 * way to bring a machine's facts to another host.
 *
 * The classes of pairs, measured bandwidths and health scores are taken as they stand there. The
 * threads of cores, and the facts behind a health score, are not in that JSON.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "numa/machine.h"

/* True if a file begins like JSON: with a brace. */
bool ath_topology_is_json(const char *data, size_t length);

/* Like ath_topology_parse(). Errors name the file, and the line or the member. */
int ath_topology_parse_json(const char *name, const char *data, size_t length,
                            struct ath_machine *out, struct ath_err *err);
