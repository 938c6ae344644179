/*
 * What travels between a program and its server, kept for people:
 *
 *     AITHERION_RECORD          the file for the program's calls
 *     AITHERION_RECORD_ANSWERS  the file for the server's answers
 *
 * Each gets the frames of the wire one behind the other, as `capnp decode cuda-wire.capnp Call`
 * (and Answer) reads them; not the handshake. "%p" in a name is the process id, for programs of
 * several processes. A file is made anew, for its owner alone: it holds all that the program copies
 * to its GPU.
 *
 * A recording that fails says so once on standard error, and stops: the program goes on.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct ath_recording {
    int fd; /* -1: nothing is recorded */
};

/* A recording into the file that a variable of the environment names. fd is -1 where it names none,
 * or (which is said) the file cannot be made. */
struct ath_recording ath_recording_of(const char *variable);

/* Takes a frame, head and all. One thread at a time. */
void ath_recording_add(struct ath_recording *recording, const uint8_t *frame, size_t length);

/* Ends it. */
void ath_recording_free(struct ath_recording *recording);
