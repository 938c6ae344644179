/* Groups ports into cards. Private to roce. */
#pragma once
#include <stdint.h>

#include "base/root.h"
#include "roce/port.h"

/* Sets nic.card of every port that has a PCI address. The ports must be sorted. */
void ath_cards_group(const struct ath_root *root, struct ath_ports *ports);

/* Returns the serial number (keyword SN) in a function's vital product data, or NULL. The caller
 * frees the text. */
char *ath_vpd_serial(const uint8_t *data, size_t length);
