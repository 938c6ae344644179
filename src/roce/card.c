/*
 * Grouping PCI functions into cards.
 *
 * All functions of one slot are one card. A card may also have several slots: on AC922, PHB3 of
 * both POWER9 chips reaches the same ConnectX-5 (skiboot, platforms/astbmc/witherspoon.c), which
 * appears as 0003:01:00.0/1 and 0033:01:00.0/1. Slots of one card share the sys_image_guid of their
 * RDMA devices. If no RDMA driver is loaded, they share the serial number in their vital product
 * data (PCI Local Bus Specification 3.0, appendix I). Serial numbers are read only if two slots
 * hold the same device, because a read goes through the card's firmware, takes long, and needs
 * root.
 */
#include "config.h"

#include "roce/card.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* A large resource tag has bit 7 set and a length of two bytes. A small one has a length of three
 * bits. */
enum { TAG_LARGE = 0x80, TAG_END = 0x0f, TAG_READ_ONLY = 0x10 };

struct slot {
    size_t first, count; /* the slot's ports, as a range in the sorted list */
    const struct ath_nic *nic;
    char *key; /* the same text for all slots of a card; NULL if nothing is known */
};

/* Each field of the read-only resource is a keyword of two letters, one byte of length, and the
 * value. */
static char *find_serial(const uint8_t *data, size_t length)
{
    for (size_t at = 0; at + 3 <= length;) {
        size_t size = data[at + 2];
        if (at + 3 + size > length)
            return NULL;
        const char *value = (const char *)data + at + 3;
        if (data[at] == 'S' && data[at + 1] == 'N') {
            while (size && !isgraph((unsigned char)value[size - 1]))
                size--;
            return size ? ath_xasprintf("%.*s", (int)size, value) : NULL;
        }
        at += 3 + size;
    }
    return NULL;
}

char *ath_vpd_serial(const uint8_t *data, size_t length)
{
    for (size_t at = 0; at < length;) {
        bool is_large = data[at] & TAG_LARGE;
        int tag = is_large ? data[at] & 0x7f : (data[at] >> 3) & 0x0f;
        size_t header = is_large ? 3 : 1;
        if ((!is_large && tag == TAG_END) || at + header > length)
            return NULL;
        size_t size =
            is_large ? (size_t)data[at + 1] | (size_t)data[at + 2] << 8 : data[at] & 0x07u;
        if (at + header + size > length)
            return NULL;
        if (is_large && tag == TAG_READ_ONLY)
            return find_serial(data + at + header, size);
        at += header + size;
    }
    return NULL;
}

static char *read_serial(const struct ath_root *root, const struct ath_nic *nic)
{
    char address[ATH_PCI_TEXT];
    ath_auto_free char *path =
        ath_xasprintf("sys/bus/pci/devices/%s/vpd", ath_pci_format(&nic->pci, address));
    size_t length;
    ath_auto_free uint8_t *data = ath_root_read_bytes(root, path, &length);
    ath_auto_free char *serial = data ? ath_vpd_serial(data, length) : NULL;
    return serial ? ath_xasprintf("serial %x:%x %s", (unsigned)nic->vendor_id,
                                  (unsigned)nic->device_id, serial)
                  : NULL;
}

/* Returns the slots of the sorted ports. The caller frees the array and each key. */
static struct slot *find_slots(const struct ath_ports *ports, size_t *out_count)
{
    struct slot *slots = NULL;
    size_t count = 0;

    for (size_t i = 0; i < ports->count && ports->items[i].nic.has_pci; i++) {
        const struct ath_port *port = &ports->items[i];
        if (!count || !ath_pci_same_slot(&slots[count - 1].nic->pci, &port->nic.pci)) {
            struct slot *slot = ath_push(&slots, &count, sizeof *slots);
            *slot = (struct slot){ .first = i, .nic = &port->nic };
        }
        struct slot *slot = &slots[count - 1];
        slot->count++;
        if (!slot->key && port->sys_image_guid)
            slot->key = ath_xasprintf("guid %s", port->sys_image_guid);
    }
    *out_count = count;
    return slots;
}

static int compare_devices(const void *a, const void *b)
{
    const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;
    if (!x->key != !y->key)
        return x->key ? 1 : -1;
    if (x->nic->vendor_id != y->nic->vendor_id)
        return x->nic->vendor_id < y->nic->vendor_id ? -1 : 1;
    return (x->nic->device_id > y->nic->device_id) - (x->nic->device_id < y->nic->device_id);
}

static bool is_same_device(const struct slot *a, const struct slot *b)
{
    return !a->key && !b->key && a->nic->vendor_id == b->nic->vendor_id &&
           a->nic->device_id == b->nic->device_id;
}

/* Reads the serial numbers of slots that have no GUID, if another slot holds the same device. */
static void read_serials(const struct ath_root *root, struct slot **slots, size_t count)
{
    qsort(slots, count, sizeof *slots, compare_devices);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && is_same_device(slots[first], slots[end]);)
            end++;
        for (size_t i = first; end - first > 1 && i < end; i++)
            slots[i]->key = read_serial(root, slots[i]->nic);
    }
}

static int compare_keys(const void *a, const void *b)
{
    const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;
    int order = !x->key || !y->key ? !x->key - !y->key : strcmp(x->key, y->key);
    return order ? order : ath_pci_compare(&x->nic->pci, &y->nic->pci);
}

/* Slots with the same key follow each other. The lowest PCI address names the card. */
static void name_cards(struct slot *const *slots, size_t count, struct ath_ports *ports)
{
    const struct slot *card = NULL;

    for (size_t i = 0; i < count; i++) {
        char name[ATH_PCI_TEXT];
        if (!card || !card->key || !slots[i]->key || strcmp(card->key, slots[i]->key))
            card = slots[i];
        ath_pci_format(&card->nic->pci, name);
        for (size_t j = 0; j < slots[i]->count; j++)
            ports->items[slots[i]->first + j].nic.card = ath_xstrdup(name);
    }
}

void ath_cards_group(const struct ath_root *root, struct ath_ports *ports)
{
    size_t count;
    ath_auto_free struct slot *slots = find_slots(ports, &count);
    ath_auto_free struct slot **order = ath_xalloc(count * sizeof *order);

    if (!count)
        return;
    for (size_t i = 0; i < count; i++)
        order[i] = &slots[i];
    read_serials(root, order, count);
    qsort(order, count, sizeof *order, compare_keys);
    name_cards(order, count, ports);
    for (size_t i = 0; i < count; i++)
        free(slots[i].key);
}
