/*
 * Records the messages between a program and its server:
 *
 *     AITHERION_RECORD          the file for the program's calls
 *     AITHERION_RECORD_ANSWERS  the file for the server's answers
 *
 * Each file gets the frames one after the other, without the handshake, as `capnp decode
 * cuda-wire.capnp Call` (or Answer) reads them. "%p" in a name is replaced by the process id, for
 * programs of several processes. An existing file is overwritten. Only its owner may read it, since
 * it holds all bytes that the program copies to its GPU.
 *
 * If recording fails, a message on standard error says so once and recording stops. The program
 * goes on.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct ath_recording {
    int fd; /* -1: nothing is recorded */
};

/* Opens the file that an environment variable names. fd is -1 if the variable is not set, or if the
 * file cannot be made, which is printed. */
struct ath_recording ath_recording_of(const char *variable);

/* Writes a frame with its head. One thread at a time. */
void ath_recording_add(struct ath_recording *recording, const uint8_t *frame, size_t length);

/* Closes the file. */
void ath_recording_free(struct ath_recording *recording);
