/* Notes that `roce add`, `remove` and `bind` print besides the change. The report owns them. */
#pragma once
#include "cli/output/change.h"
#include "config/roce_edit.h"

/* Notes that the name given is not the name that the document uses. */
void ath_roce_note_card(struct ath_change_report *report, const char *name, const char *card);
void ath_roce_note_device(struct ath_change_report *report, const char *name, const char *device);

/*
 * Notes ports in InfiniBand mode and how to change it: those of a card, or those of an RDMA device.
 */
void ath_roce_note_card_mode(struct ath_change_report *report, const struct ath_machine *machine,
                             const char *card);
void ath_roce_note_device_mode(struct ath_change_report *report, const struct ath_machine *machine,
                               const char *device);
