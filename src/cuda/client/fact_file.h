/*
 * Facts that outlive the program, in a file of the user's: $XDG_CACHE_HOME/aitherion or
 * ~/.cache/aitherion. A fact is a key and a value, both bytes. There is one file for each version
 * of driver and server, with at most 8 MiB; the eight that were used last stay.
 *
 * A file is ignored if it is damaged, if it belongs to another user, or if another user may write
 * it. It is saved whole or not at all. Nothing is written if the folder is another user's. Any
 * thread; the lock is a leaf.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fingerprint.h"
#include "remote/wire/frame.h"

/* Reads the facts of a driver, once in a process. */
void ath_cuda_fact_file_open(const struct ath_fingerprint_value *driver);

/* Copies the value of a key. Returns false if there is none, or no memory. */
bool ath_cuda_fact_file_find(const void *key, size_t length, struct ath_frame *value);

/* Adds a fact, unless its key has a value. Facts that this run has used are saved first. */
void ath_cuda_fact_file_add(const void *key, size_t length, const void *value, size_t value_length,
                            bool is_used);

/* The same in place of the value that the key has. */
void ath_cuda_fact_file_replace(const void *key, size_t length, const void *value,
                                size_t value_length);

/* Writes the facts if there are new ones, with those that other programs saved meanwhile. Failing
 * costs the next start time, and is not reported. A child of fork() writes nothing. */
void ath_cuda_fact_file_save(void);

/* Forgets the facts in memory; the next open reads them again. */
void ath_cuda_fact_file_close(void);
