/* CRC-32C (Castagnoli, RFC 3720 B.4), which finds damage in datagrams that UDP's sum of 16 bits
 * does not find. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Continues a sum over more bytes. The sum of no bytes is 0. */
uint32_t ath_crc32c(uint32_t sum, const void *bytes, size_t length);

/* The same without the processor's instructions, for machines that have none and for tests. */
uint32_t ath_crc32c_by_tables(uint32_t sum, const void *bytes, size_t length);
