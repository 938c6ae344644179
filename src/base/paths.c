/* Finding our data folder from the place of the binary. */
#include "config.h"

#include "base/paths.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static char *if_exists(char *path)
{
    if (!access(path, F_OK))
        return path;
    free(path);
    return NULL;
}

char *ath_path_share(const char *name)
{
    char binary[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", binary, sizeof binary - 1);
    char *found = NULL;

    if (length > 0) {
        binary[length] = '\0';
        const char *folder = dirname(binary);
        found = if_exists(ath_xasprintf("%s/share/%s", folder, name));
        if (!found)
            found = if_exists(ath_xasprintf("%s/../share/%s", folder, name));
    }
    return found ? found : if_exists(ath_xasprintf("%s/%s", ATH_DATADIR, name));
}
