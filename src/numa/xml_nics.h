/*
 * Derives what a topology XML does not state about network cards: which PCI functions are virtual,
 * and which belong to one card.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "numa/machine.h"

/* The GUID of the system image (the card) for each of machine->nics, by the same index; 0 if
 * unknown. */
struct ath_xml_guids {
    uint64_t *items;
    size_t count;
};

void ath_xml_guids_free(struct ath_xml_guids *guids);

/* Like ath_machine_add_nic(), and also adds the GUID to *guids. */
struct ath_nic *ath_xml_add_nic(struct ath_machine *machine, struct ath_xml_guids *guids,
                                uint64_t guid);

/*
 * Removes the virtual functions from machine->nics, and counts them at their physical function.
 * `vfs` is 0 for the other functions, and unknown if one bus has several physical functions,
 * because the XML does not say which one is the owner. Only for files that list all PCI functions
 * of the machine.
 */
void ath_xml_nics_fold(struct ath_machine *machine, struct ath_xml_guids *guids);

/* Sets the card of each port. */
void ath_xml_nics_name_cards(struct ath_machine *machine, const struct ath_xml_guids *guids);
