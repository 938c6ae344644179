/* Reads files, with a warning if access is refused. Private to numa. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/*
 * Returns the text of a file as ath_root_read() does, or NULL. If access is refused, a warning
 * names what is not known (`lost`, translated). A missing file causes no warning.
 */
char *ath_read_or_warn(const struct ath_root *root, struct ath_machine *machine, const char *path,
                       const char *lost);

/* Returns the value after "KEY:" or "KEY\t:" in lines like those of /proc/cpuinfo, without spaces
 * around it, or NULL. The caller frees the value. */
char *ath_line_value(const char *text, const char *key);
