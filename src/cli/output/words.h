/* Facts in words, for text, matrix and pictures. What returns char * is freed by the caller. */
#pragma once
#include <stdint.h>

#include "base/pci.h"
#include "roce/nic.h"

/* "251.7 GiB"; below one GiB "512.0 MiB". */
char *ath_words_size(int64_t bytes);

/* A page size, a power of two: "2 MiB". */
char *ath_words_page(int64_t bytes);

/* "100 Gb/s", "2.5 Gb/s", "100 Mb/s". */
char *ath_words_speed(int64_t mbps);

/* "NVIDIA" for 0x10de; NULL for ids that we have no name for, and for ATH_UNKNOWN. */
const char *ath_words_vendor(int vendor_id);

/* The model, or else "NVIDIA 10de:1db6"; "" where not even the ids are known. */
char *ath_words_device(int vendor_id, int device_id, const char *model);

/* An address as people write it: "192.168.1.10", "fe80::1". */
char *ath_words_gid(const struct ath_gid *gid);

/* What a class means, as a translated sentence: "through one PCIe host bridge". */
const char *ath_words_class(enum ath_pci_class class);
