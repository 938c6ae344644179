/* PCI addresses as keys, vendor ids, and the distance between two functions. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Domain, bus, device, function: 0004:04:00.0. A domain may exceed 16 bits (NVMe behind Intel VMD:
 * 10000:). A GPU whose address the source does not tell has its number as the key instead. */
struct ath_pci {
    uint32_t domain;
    uint8_t bus, device, function;
};

enum { ATH_PCI_TEXT = 24 }; /* room for any address as text, NUL included */

/* Vendor ids (https://pci-ids.ucw.cz) that our code compares with. */
enum {
    ATH_VENDOR_AMD = 0x1002,
    ATH_VENDOR_AMD_CPU = 0x1022,
    ATH_VENDOR_NVIDIA = 0x10de,
    ATH_VENDOR_MELLANOX = 0x15b3,
    ATH_VENDOR_INTEL = 0x8086,
};

/*
 * Reads "0004:04:00.0", "00000004:04:00.0" (NVML's form) or "04:00.0" (domain 0), upper or lower
 * case. Returns 0, or -EINVAL with *out untouched.
 */
int ath_pci_parse(const char *text, struct ath_pci *out);

/* Returns a key that is no address: the number of a GPU in the text of `nvidia-smi topo -m`. */
struct ath_pci ath_pci_numbered(uint32_t number);

/* False for a key that is only a number. */
bool ath_pci_is_address(const struct ath_pci *key);

/* Writes the kernel's form into out and returns out; the number ("3") of a key that is only
 * that. */
const char *ath_pci_format(const struct ath_pci *address, char out[ATH_PCI_TEXT]);

/* Compares by domain, bus, device, function: <0, 0, >0. */
int ath_pci_compare(const struct ath_pci *a, const struct ath_pci *b);
bool ath_pci_equals(const struct ath_pci *a, const struct ath_pci *b);

/* True for functions of the same device: equal domain, bus and device. */
bool ath_pci_same_slot(const struct ath_pci *a, const struct ath_pci *b);

/*
 * Finds the last PCI address in a sysfs path, which is the function that a class device belongs to:
 * ../../devices/pci0003:00/0003:00:00.0/0003:01:00.0/net/enP3p1s0f0. Returns false if the path has
 * no PCI address.
 */
bool ath_pci_of_path(const char *path, struct ath_pci *out);

/*
 * The distance between two functions, in the words of `nvidia-smi topo -m`:
 * SAME   one function
 * PIX    at most one PCIe switch between them
 * PXB    several switches, but not the host bridge
 * PHB    through one host bridge (the root complex of a CPU)
 * NODE   through several host bridges of one NUMA node
 * SYS    across NUMA nodes
 */
enum ath_pci_class {
    ATH_PCI_UNKNOWN,
    ATH_PCI_SAME,
    ATH_PCI_PIX,
    ATH_PCI_PXB,
    ATH_PCI_PHB,
    ATH_PCI_NODE,
    ATH_PCI_SYS,
    ATH_PCI_CLASS_COUNT
};

/*
 * A device's row in a table of classes that the source itself gives (`nvidia-smi topo -m`):
 * classes[i] is the enum ath_pci_class to the device whose column is i. A zeroed struct: no table.
 */
struct ath_pci_row {
    const uint8_t *classes; /* belongs to the machine */
    size_t column;          /* of the device itself */
};

/* "PIX", ...; "?" for unknown, "X" for the same function. */
const char *ath_pci_class_word(enum ath_pci_class class);

/*
 * Returns the class between two functions, from their positions in the PCI tree and their NUMA
 * nodes.
 *
 * A place is the chain of bridges above a function, root first, joined by slashes, without the
 * function itself: "pci0004:00/0004:00:00.0/0004:01:00.0/0004:02:0a.0". It may be NULL (unknown). A
 * switch appears in it as in sysfs, with its upstream and its downstream port. A node is the
 * kernel's id, or -1. Different nodes give SYS regardless of the places. Equal nodes without places
 * give UNKNOWN, not a guess.
 */
enum ath_pci_class ath_pci_class_between(const char *place_a, int node_a, const char *place_b,
                                         int node_b);
