/*
 * The profile table.
 *
 * IBM's AC922 is the 8335-GTC, -GTG and -GTH (air cooled), -GTW and -GTX (water cooled), IBM
 * Redbooks REDP-5472 and REDP-5494; its firmware calls the board Witherspoon (skiboot,
 * platforms/astbmc/witherspoon.c: "ibm,witherspoon"). A model is "8335-GTW" in the device tree.
 */
#include "config.h"

#include "numa/profile.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

static const struct {
    const char *mark, *profile;
} marks[] = {
    { "8335-GTC", "ac922" },    { "8335-GTG", "ac922" }, { "8335-GTH", "ac922" },
    { "8335-GTW", "ac922" },    { "8335-GTX", "ac922" }, { "AC922", "ac922" },
    { "witherspoon", "ac922" },
};

const char *ath_profile_of(const char *model, const char *compatible)
{
    for (size_t i = 0; i < ATH_COUNT(marks); i++)
        if ((model && strcasestr(model, marks[i].mark)) ||
            (compatible && strcasestr(compatible, marks[i].mark)))
            return marks[i].profile;
    return "generic";
}
