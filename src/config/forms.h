/* The forms that texts of a document must have: names, addresses, paths. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "config/schema.h"

enum {
    ATH_FORM_ADDRESS_BYTES = 46, /* INET6_ADDRSTRLEN */
    ATH_FORM_PORT_MAX = 65535,
};

/*
 * Reads a text of ATH_FORM_MEMORY: bytes, with K, M, G or T for powers of 1024, or a percentage.
 * Returns 0 with *out_bytes (ATH_UNSET for a percentage) and *out_percent (0 for bytes), or
 * -EINVAL.
 */
int ath_form_memory(const char *text, int64_t *out_bytes, double *out_percent);

/* Reads a text of ATH_FORM_LISTEN. Returns 0 with *out_address ("" for a port alone) and *out_port,
 * or -EINVAL. */
int ath_form_listen(const char *text, char out_address[ATH_FORM_ADDRESS_BYTES], int *out_port);

bool ath_form_fits(enum ath_form form, const char *text);

/* Returns the words that follow "must be", untranslated: "a PCI address such as 0004:04:00.0"; and
 * the same for a list of them. */
const char *ath_form_allowed(enum ath_form form);
const char *ath_form_allowed_list(enum ath_form form);
