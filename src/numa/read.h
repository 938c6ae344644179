/* Reading files whose loss a person should hear of. Private to numa. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/*
 * The text of a file as ath_root_read() gives it, or NULL; where reading it is refused, a warning
 * says what is not known now (`lost`, translated). A file that is simply not there is no warning.
 */
char *ath_read_or_warn(const struct ath_root *root, struct ath_machine *machine, const char *path,
                       const char *lost);

/* The value behind "KEY:" or "KEY\t:" in lines like those of /proc/cpuinfo, without blanks around
 * it, or NULL; the caller frees it. */
char *ath_line_value(const char *text, const char *key);
