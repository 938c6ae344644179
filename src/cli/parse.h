/* Sorting the arguments of main() by the command table. */
#pragma once
#include "base/err.h"
#include "cli/cli.h"

struct ath_command_line {
    const struct ath_command *command; /* the deepest command named; the root if none was named */
    struct ath_globals globals;
    void *options;          /* command->options_size bytes, owned */
    const char **arguments; /* positional arguments pointing into argv; the array is owned */
    size_t argument_count;
};

/*
 * Parses the command line. Flags may stand anywhere, and "--" ends them. "--name value",
 * "--name=value", "-n value" and "-nvalue" are the same. The caller releases *out with
 * ath_command_line_free().
 *
 * Returns 0, or -EINVAL with code word "usage" and a hint. *out then holds what was parsed, so that
 * the caller knows whether JSON was asked for.
 */
int ath_command_line_parse(int argc, char *const argv[], struct ath_command_line *out,
                           struct ath_err *err);
/* Names the command's help in the hint of a wrong command line that has no hint. */
void ath_command_line_hint(const struct ath_command_line *line, struct ath_err *err);

void ath_command_line_free(struct ath_command_line *line);
