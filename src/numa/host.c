/*
 * The machine's identity.
 *
 * A live machine is queried with uname(2). A capture has the same texts in proc/sys/kernel, or, if
 * hwloc-gather-topology made it, in proc/hwloc-nofile-info ("HostName: ..."). A PowerNV machine has
 * its model in the device tree and in /proc/cpuinfo ("machine : PowerNV 8335-GTW"), other machines
 * in DMI.
 */
#include "config.h"

#include "numa/host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "numa/profile.h"
#include "numa/read.h"

/* Takes ownership of text. Sets *target if it is NULL and text is not empty. */
static void set_missing(char **target, char *text)
{
    if (!*target && text && *text)
        *target = text;
    else
        free(text);
}

static void read_live(struct ath_machine *machine)
{
    struct utsname name;
    if (uname(&name))
        return;
    set_missing(&machine->hostname, ath_xstrdup(name.nodename));
    set_missing(&machine->kernel, ath_xstrdup(name.release));
    set_missing(&machine->arch, ath_xstrdup(name.machine));
}

/* The text is "Linux version 4.14.0-49.el7a.ppc64le (builder@...) ...". */
static char *kernel_of_version(const struct ath_root *root)
{
    ath_auto_free char *text = ath_root_read(root, "proc/version");
    static const char before[] = "Linux version ";
    if (!text || strncmp(text, before, sizeof before - 1))
        return NULL;
    const char *word = text + sizeof before - 1;
    return ath_xasprintf("%.*s", (int)strcspn(word, " "), word);
}

static void read_captured(const struct ath_root *root, struct ath_machine *machine)
{
    set_missing(&machine->hostname, ath_root_read(root, "proc/sys/kernel/hostname"));
    set_missing(&machine->hostname, ath_root_read(root, "etc/hostname"));
    set_missing(&machine->kernel, ath_root_read(root, "proc/sys/kernel/osrelease"));
    set_missing(&machine->arch, ath_root_read(root, "proc/sys/kernel/arch"));

    ath_auto_free char *info = ath_root_read(root, "proc/hwloc-nofile-info");
    if (info) {
        set_missing(&machine->hostname, ath_line_value(info, "HostName"));
        set_missing(&machine->kernel, ath_line_value(info, "OSRelease"));
        set_missing(&machine->arch, ath_line_value(info, "Architecture"));
    }
    set_missing(&machine->kernel, kernel_of_version(root));
}

/* True for the texts that board makers leave in unfilled DMI fields. */
static bool is_placeholder(const char *text)
{
    static const char *const placeholders[] = {
        "To be filled by O.E.M.", "To Be Filled By O.E.M.", "Default string", "Not Specified",
        "System Product Name",    "System manufacturer",    "Unknown",
    };
    for (size_t i = 0; i < ATH_COUNT(placeholders); i++)
        if (!strcmp(text, placeholders[i]))
            return true;
    return !*text;
}

static char *model_of_dmi(const struct ath_root *root)
{
    ath_auto_free char *product = ath_root_read(root, "sys/class/dmi/id/product_name");
    ath_auto_free char *vendor = ath_root_read(root, "sys/class/dmi/id/sys_vendor");

    if (!product || is_placeholder(product))
        return NULL;
    if (!vendor || is_placeholder(vendor) || !strncmp(product, vendor, strlen(vendor)))
        return ath_steal(&product);
    return ath_xasprintf("%s %s", vendor, product);
}

/* Only POWER's cpuinfo names the machine; on other processors, `model` is the CPU's number. */
static char *model_of_cpuinfo(const struct ath_root *root)
{
    ath_auto_free char *text = ath_root_read(root, "proc/cpuinfo");
    ath_auto_free char *machine = text ? ath_line_value(text, "machine") : NULL;
    char *model = machine ? ath_line_value(text, "model") : NULL;
    return model ? model : ath_steal(&machine);
}

void ath_host_read(const struct ath_root *root, struct ath_machine *machine)
{
    if (root->is_live)
        read_live(machine);
    else
        read_captured(root, machine);

    set_missing(&machine->model, ath_root_read(root, "proc/device-tree/model"));
    set_missing(&machine->model, model_of_dmi(root));
    if (!machine->model) /* last, because it takes a megabyte on a large machine */
        machine->model = model_of_cpuinfo(root);
    ath_auto_free char *compatible = ath_root_read(root, "proc/device-tree/compatible");
    machine->profile = ath_profile_of(machine->model, compatible);
    ath_log(ATH_LOG_VERBOSE, _("model: %s, profile: %s"),
            machine->model ? machine->model : _("not known"), machine->profile);
}
