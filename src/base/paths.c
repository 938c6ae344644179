/* Finds our data folder and programs relative to the running binary. */
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

/* Returns the folder of the running binary; NULL if /proc is not readable. The caller frees it. */
static char *own_folder(void)
{
    char binary[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", binary, sizeof binary - 1);

    if (length <= 0)
        return NULL;
    binary[length] = '\0';
    return ath_xstrdup(dirname(binary));
}

char *ath_path_share(const char *name)
{
    ath_auto_free char *folder = own_folder();
    char *found = folder ? if_exists(ath_xasprintf("%s/share/%s", folder, name)) : NULL;

    if (folder && !found)
        found = if_exists(ath_xasprintf("%s/../share/%s", folder, name));
    return found ? found : if_exists(ath_xasprintf("%s/%s", ATH_DATADIR, name));
}

char *ath_path_program(const char *name)
{
    ath_auto_free char *folder = own_folder();
    char *found = folder ? if_exists(ath_xasprintf("%s/%s", folder, name)) : NULL;

    if (folder && !found)
        found = if_exists(ath_xasprintf("%s/../libexec/aitherion/%s", folder, name));
    return found;
}

char *ath_path_library(const char *name)
{
    ath_auto_free char *folder = own_folder();
    char *found = folder ? if_exists(ath_xasprintf("%s/lib/aitherion/%s", folder, name)) : NULL;

    if (folder && !found)
        found = if_exists(ath_xasprintf("%s/../lib/aitherion/%s", folder, name));
    return found ? found : if_exists(ath_xasprintf("%s/aitherion/%s", ATH_LIBDIR, name));
}
