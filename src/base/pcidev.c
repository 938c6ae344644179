/*
 * PCI functions from sysfs.
 *
 * sys/bus/pci/devices/0004:04:00.0 is a link whose text names all bridges above the function
 * (Documentation/ABI/testing/sysfs-bus-pci): ../../../devices/pci0004:00/0004:00:00.0/...
 */
#include "config.h"

#include "base/pcidev.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

#define DEVICES "sys/bus/pci/devices"

static int compare_addresses(const void *a, const void *b)
{
    const struct ath_pcidev *x = a, *y = b;
    return ath_pci_compare(&x->address, &y->address);
}

/* Accepts only the kernel's own spelling, so that an address has exactly one folder. */
static bool parse_name(const char *name, struct ath_pci *out)
{
    char text[ATH_PCI_TEXT];
    return !ath_pci_parse(name, out) && !strcmp(ath_pci_format(out, text), name);
}

int ath_pcidev_list(const struct ath_root *root, struct ath_pcidev **out, size_t *out_count)
{
    char **names;
    size_t name_count, count = 0;
    struct ath_pcidev *list = NULL;
    int status = ath_root_list(root, DEVICES, &names, &name_count);

    for (size_t i = 0; i < name_count; i++) {
        struct ath_pci address;
        if (!parse_name(names[i], &address))
            continue;
        struct ath_pcidev *device = ath_push(&list, &count, sizeof *list);
        int number = ath_pcidev_number(root, &address, "class");
        *device = (struct ath_pcidev){ address, number < 0 ? -1 : number >> 8 };
    }
    ath_names_free(names, name_count);
    if (count)
        qsort(list, count, sizeof *list, compare_addresses);
    *out = list;
    *out_count = count;
    return status;
}

const struct ath_pcidev *ath_pcidev_find(const struct ath_pcidev *list, size_t count,
                                         const struct ath_pci *address)
{
    struct ath_pcidev key = { .address = *address };
    return count ? bsearch(&key, list, count, sizeof *list, compare_addresses) : NULL;
}

int ath_pcidev_number(const struct ath_root *root, const struct ath_pci *address,
                      const char *attribute)
{
    char text[ATH_PCI_TEXT];
    int64_t number =
        ath_root_read_number(root, -1, DEVICES "/%s/%s", ath_pci_format(address, text), attribute);
    return number < 0 || number > INT_MAX ? -1 : (int)number;
}

char *ath_pcidev_text(const struct ath_root *root, const struct ath_pci *address,
                      const char *attribute)
{
    char text[ATH_PCI_TEXT];
    return ath_root_read(root, DEVICES "/%s/%s", ath_pci_format(address, text), attribute);
}

char *ath_pcidev_driver(const struct ath_root *root, const struct ath_pci *address)
{
    char text[ATH_PCI_TEXT];
    ath_auto_free char *link =
        ath_root_link(root, DEVICES "/%s/driver", ath_pci_format(address, text));
    const char *slash = link ? strrchr(link, '/') : NULL;
    return slash && slash[1] ? ath_xstrdup(slash + 1) : NULL;
}

/* Finds the root complex ("pci0004:00") in path. Some machines have platform folders above it. */
static const char *find_root_complex(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (ath_starts_with(part, "pci") && isxdigit((unsigned char)part[3]))
            return part;
    }
    return NULL;
}

char *ath_pcidev_place(const struct ath_root *root, const struct ath_pci *address)
{
    char text[ATH_PCI_TEXT];
    ath_auto_free char *link = ath_root_link(root, DEVICES "/%s", ath_pci_format(address, text));
    const char *start = link ? find_root_complex(link) : NULL;
    const char *end = start ? strrchr(start, '/') : NULL;
    return end && !strcmp(end + 1, text) ? ath_xasprintf("%.*s", (int)(end - start), start) : NULL;
}

bool ath_pcidev_is_virtual(const struct ath_root *root, const struct ath_pci *address,
                           struct ath_pci *out_parent)
{
    char text[ATH_PCI_TEXT];
    ath_auto_free char *link =
        ath_root_link(root, DEVICES "/%s/physfn", ath_pci_format(address, text));
    return link && ath_pci_of_path(link, out_parent) &&
           ath_root_exists(root, DEVICES "/%s", ath_pci_format(out_parent, text));
}
