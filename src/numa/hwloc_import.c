/*
 * Importing XML with libhwloc, safely.
 *
 * hwloc trusts its input: 2.9 has asserts in its XML import, and sizes sets by numbers in the file.
 * So a child process with limits tries the import first. Only a text that passed there is imported
 * here, where the library does the same again, because the result depends on the text alone.
 */
#include "config.h"

#include "numa/hwloc_import.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/isolated.h"

/* A real machine with 4096 PCI functions takes less than a second and 100 MiB. */
enum { TRIAL_SECONDS = 10 };
static const rlim_t trial_bytes = (rlim_t)4 << 30;

/* AddressSanitizer reserves terabytes of address space, so a limit would end the child at once. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_LIMIT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_LIMIT 0
#else
#define HAS_ADDRESS_LIMIT 1
#endif
#else
#define HAS_ADDRESS_LIMIT 1
#endif

int ath_hwloc_open(struct ath_hwloc *out, struct ath_err *err)
{
    static const char *const names[] = { ATH_HWLOC_FUNCTIONS(ATH_LATE_NAME) NULL };

    return ath_late_load("libhwloc.so.15", "libhwloc15", names, out, err);
}

/* INCLUDE_DISALLOWED keeps CPUs and nodes that this process may not use: they belong to the
 * machine that the file describes. */
static int load(const struct ath_hwloc *hwloc, const struct ath_text *xml, hwloc_topology_t *out)
{
    hwloc_topology_t topology;

    if (hwloc->hwloc_topology_init(&topology))
        return -ENOMEM;
    if (hwloc->hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
        hwloc->hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) ||
        hwloc->hwloc_topology_set_xmlbuffer(topology, xml->data, (int)xml->length + 1) ||
        hwloc->hwloc_topology_load(topology)) {
        hwloc->hwloc_topology_destroy(topology);
        return -EINVAL;
    }
    *out = topology;
    return 0;
}

/*
 * Runs load() with its own environment, because a user's HWLOC_COMPONENTS, HWLOC_XMLFILE or
 * HWLOC_THISSYSTEM must not change the result. Plugins are left out: the built-in XML parser reads
 * the text that our pass wrote, and the OpenCL and GL plugins would look for devices of this
 * machine. The library prints no error messages.
 */
static int load_undisturbed(const struct ath_hwloc *hwloc, const struct ath_text *xml,
                            hwloc_topology_t *out)
{
    char libxml[] = "HWLOC_LIBXML=0",
         plugins[] = "HWLOC_PLUGINS_PATH=", errors[] = "HWLOC_HIDE_ERRORS=2";
    char *environment[] = { libxml, plugins, errors, NULL };
    char **ours = environ;

    environ = environment;
    int status = load(hwloc, xml, out);
    environ = ours;
    return status;
}

/* If a lower limit is already in force, setting this one fails, and the lower limit stays. */
static void confine_trial(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    setrlimit(RLIMIT_CPU, &(struct rlimit){ TRIAL_SECONDS, TRIAL_SECONDS });
    if (HAS_ADDRESS_LIMIT)
        setrlimit(RLIMIT_AS, &(struct rlimit){ trial_bytes, trial_bytes });
}

struct trial {
    const struct ath_hwloc *hwloc;
    const struct ath_text *xml;
};

/* Runs in the child. Returns 0 if hwloc accepts the text. */
static int run_trial(void *argument)
{
    const struct trial *trial = argument;
    hwloc_topology_t topology;

    return load_undisturbed(trial->hwloc, trial->xml, &topology) != 0;
}

static int try_import(const struct ath_hwloc *hwloc, const char *name, const struct ath_text *xml,
                      struct ath_err *err)
{
    struct trial trial = { hwloc, xml };
    int status = ath_run_isolated(run_trial, &trial, confine_trial, TRIAL_SECONDS * 1000);

    if (status > 0)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("'%s' is well-formed, but hwloc does not accept it as a topology"),
                           name);
    if (status == -EFAULT || status == -ETIMEDOUT)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("'%s' made hwloc crash, or take more than %d seconds or 4 GiB"), name,
                           TRIAL_SECONDS);
    return status ? ath_err_system(err, status, _("cannot read '%s'"), name) : 0;
}

int ath_hwloc_import(const struct ath_hwloc *hwloc, const char *name, const struct ath_text *xml,
                     hwloc_topology_t *out, struct ath_err *err)
{
    if (xml->length >= INT_MAX)
        return ath_err_set(err, -EFBIG, ATH_E_TOPOLOGY_INVALID, _("'%s' is too large"), name);
    int status = try_import(hwloc, name, xml, err);
    if (status)
        return status;
    status = load_undisturbed(hwloc, xml, out);
    return status ? ath_err_system(err, status, _("cannot read '%s'"), name) : 0;
}
