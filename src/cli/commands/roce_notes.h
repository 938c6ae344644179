/* What `roce add`, `remove` and `bind` say beside the change. */
#pragma once
#include "cli/output/change.h"
#include "config/roce_edit.h"

/* The name given was not the one that the document has. */
void ath_roce_note_card(struct ath_change_report *report, const char *name, const char *card);
void ath_roce_note_device(struct ath_change_report *report, const char *name, const char *device);

/* Ports in InfiniBand mode, with the mend: those of a card, and those of an RDMA device. */
void ath_roce_note_card_mode(struct ath_change_report *report, const struct ath_machine *machine,
                             const char *card);
void ath_roce_note_device_mode(struct ath_change_report *report, const struct ath_machine *machine,
                               const char *device);
