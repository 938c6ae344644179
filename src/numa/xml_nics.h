/*
 * What a topology XML does not say outright about network cards: which of its PCI functions are
 * virtual, and which belong to one card.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "numa/machine.h"

/* The GUID of the system image (the card) for each of machine->nics, in step with them; 0 unknown.
 */
struct ath_xml_guids {
    uint64_t *items;
    size_t count;
};

void ath_xml_guids_free(struct ath_xml_guids *guids);

/* ath_machine_add_nic() that keeps *guids in step. */
struct ath_nic *ath_xml_add_nic(struct ath_machine *machine, struct ath_xml_guids *guids,
                                uint64_t guid);

/*
 * Takes the virtual functions out of machine->nics and counts them at their physical function
 * (`vfs` of the rest is 0; unknown where one bus has several physical functions, since the XML does
 * not tell whose they are). For files that name all PCI functions of the machine.
 */
void ath_xml_nics_fold(struct ath_machine *machine, struct ath_xml_guids *guids);

/* Names each port's card. */
void ath_xml_nics_name_cards(struct ath_machine *machine, const struct ath_xml_guids *guids);
