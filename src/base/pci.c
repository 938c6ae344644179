/*
 * PCI addresses and distances.
 *
 * A PCIe switch is an upstream port with downstream ports below it. Two functions behind one switch
 * therefore share a chain that ends in the upstream port, and each has one more bridge of its own
 * (PCI Express Base Specification, 1.3.3). nvidia-smi calls that PIX ("at most a single PCIe
 * bridge"), and more bridges PXB.
 */
#include "config.h"

#include "base/pci.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads 1 to max_digits hexadecimal digits followed by `after` and returns the text behind them, or
 * NULL if text has another form or the value exceeds max. */
static const char *read_field(const char *text, int max_digits, char after, uint32_t max,
                              uint32_t *out)
{
    uint32_t value = 0;
    int digits = 0;

    for (; digits < max_digits && isxdigit((unsigned char)*text); digits++, text++) {
        int c = tolower((unsigned char)*text);
        value = value * 16 + (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (!digits || *text != after || value > max)
        return NULL;
    *out = value;
    return after ? text + 1 : text;
}

int ath_pci_parse(const char *text, struct ath_pci *out)
{
    uint32_t domain = 0, bus, device, function;
    const char *first = strchr(text, ':');

    if (first && strchr(first + 1, ':') && !(text = read_field(text, 8, ':', UINT32_MAX, &domain)))
        return -EINVAL;
    if (!(text = read_field(text, 2, ':', 0xff, &bus)) ||
        !(text = read_field(text, 2, '.', 0x1f, &device)) ||
        !read_field(text, 1, '\0', 7, &function))
        return -EINVAL;
    *out = (struct ath_pci){ domain, (uint8_t)bus, (uint8_t)device, (uint8_t)function };
    return 0;
}

/* No function of a PCI device has this number. */
enum { NO_FUNCTION = 0xff };

struct ath_pci ath_pci_numbered(uint32_t number)
{
    return (struct ath_pci){ .domain = number, .function = NO_FUNCTION };
}

bool ath_pci_is_address(const struct ath_pci *key)
{
    return key->function != NO_FUNCTION;
}

const char *ath_pci_format(const struct ath_pci *address, char out[ATH_PCI_TEXT])
{
    if (!ath_pci_is_address(address)) {
        snprintf(out, ATH_PCI_TEXT, "%u", address->domain);
        return out;
    }
    snprintf(out, ATH_PCI_TEXT, "%04x:%02x:%02x.%x", address->domain, address->bus, address->device,
             address->function);
    return out;
}

int ath_pci_compare(const struct ath_pci *a, const struct ath_pci *b)
{
    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    if (a->bus != b->bus)
        return a->bus - b->bus;
    if (a->device != b->device)
        return a->device - b->device;
    return a->function - b->function;
}

bool ath_pci_equals(const struct ath_pci *a, const struct ath_pci *b)
{
    return ath_pci_compare(a, b) == 0;
}

bool ath_pci_same_slot(const struct ath_pci *a, const struct ath_pci *b)
{
    return ath_pci_is_address(a) && ath_pci_is_address(b) && a->domain == b->domain &&
           a->bus == b->bus && a->device == b->device;
}

bool ath_pci_of_path(const char *path, struct ath_pci *out)
{
    bool is_found = false;

    for (const char *part = path; part; part = strchr(part, '/')) {
        char name[ATH_PCI_TEXT];
        part += *part == '/';
        size_t length = strcspn(part, "/");
        if (length < sizeof name) {
            memcpy(name, part, length);
            name[length] = '\0';
            is_found |= length >= 12 &&
                        !ath_pci_parse(name, out); /* 12: with its domain, as sysfs writes it */
        }
    }
    return is_found;
}

const char *ath_pci_class_word(enum ath_pci_class class)
{
    static const char *const words[] = {
        [ATH_PCI_UNKNOWN] = "?", [ATH_PCI_SAME] = "X",  [ATH_PCI_PIX] = "PIX",
        [ATH_PCI_PXB] = "PXB",   [ATH_PCI_PHB] = "PHB", [ATH_PCI_NODE] = "NODE",
        [ATH_PCI_SYS] = "SYS",
    };
    return words[class];
}

/* Counts the parts of a path from text on. */
static int parts_left(const char *text)
{
    int parts = *text != '\0';
    for (; *text; text++)
        parts += *text == '/';
    return parts;
}

enum ath_pci_class ath_pci_class_between(const char *place_a, int node_a, const char *place_b,
                                         int node_b)
{
    if (node_a >= 0 && node_b >= 0 && node_a != node_b)
        return ATH_PCI_SYS;
    if (!place_a || !place_b)
        return ATH_PCI_UNKNOWN;

    const char *a = place_a, *b = place_b;
    int shared = 0;
    for (;;) {
        size_t length = strcspn(a, "/");
        if (!length || length != strcspn(b, "/") || strncmp(a, b, length))
            break;
        shared++;
        a += length + (a[length] == '/');
        b += length + (b[length] == '/');
    }
    if (shared == 0)
        return node_a >= 0 && node_a == node_b ? ATH_PCI_NODE : ATH_PCI_UNKNOWN;
    if (shared == 1)
        return ATH_PCI_PHB; /* only the root complex itself */
    return parts_left(a) <= 1 && parts_left(b) <= 1 ? ATH_PCI_PIX : ATH_PCI_PXB;
}
