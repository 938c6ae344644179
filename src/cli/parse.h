/* The arguments of main(), sorted by the command table. */
#pragma once
#include "base/err.h"
#include "cli/cli.h"

struct ath_command_line {
    const struct ath_command *command; /* the deepest that was named; the root where none was */
    struct ath_globals globals;
    void *options;          /* of command->options_size bytes */
    const char **arguments; /* positional, pointing into argv; the array is ours */
    size_t argument_count;
};

/*
 * Flags may stand anywhere, "--" ends them; "--name value", "--name=value", "-n value" and
 * "-nvalue" are the same. Returns 0, or -EINVAL with code word "usage" and a hint; *out is filled
 * as far as it went, so that the caller knows whether JSON was asked for. The caller releases it
 * with ath_command_line_free().
 */
int ath_command_line_parse(int argc, char *const argv[], struct ath_command_line *out,
                           struct ath_err *err);
void ath_command_line_free(struct ath_command_line *line);
