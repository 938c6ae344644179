/* Loads a library's functions by name. */
#include "config.h"

#include "base/late.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/i18n.h"

int ath_late_load(const char *soname, const char *package, const char *const *names, void *out,
                  struct ath_err *err)
{
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        ath_err_set(err, -ENOENT, ATH_E_LIBRARY, _("cannot load the library '%s': %s"), soname,
                    dlerror());
        return ath_err_hint(err, -ENOENT, "apt-get install %s", package);
    }
    for (size_t i = 0; names[i]; i++) {
        void *function = dlsym(library, names[i]);
        if (!function) {
            dlclose(library);
            ath_err_set(err, -ENOENT, ATH_E_LIBRARY,
                        _("the library '%s' has no function '%s': it is too old"), soname,
                        names[i]);
            return ath_err_hint(err, -ENOENT, "apt-get install --only-upgrade %s", package);
        }
        memcpy((char *)out + i * sizeof function, &function, sizeof function);
    }
    return 0;
}
