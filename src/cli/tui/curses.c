/* Loading ncursesw. */
#include "config.h"

#include "cli/tui/curses.h"

int ath_curses_load(struct ath_curses *out, struct ath_err *err)
{
    static const char *const names[] = { ATH_CURSES_FUNCTIONS(ATH_LATE_NAME) NULL };
    return ath_late_load("libncursesw.so.6", "libncursesw6", names, out, err);
}
