/* The choice of the connections that are encrypted. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/*
 * ATH_ENCRYPT_AUTO  TCP connections that leave the host, if there is a key
 * ATH_ENCRYPT_ON    all TCP connections
 * ATH_ENCRYPT_OFF   none
 * The kernel protects unix sockets and shared memory, so those are never encrypted.
 */
enum ath_encrypt { ATH_ENCRYPT_AUTO, ATH_ENCRYPT_ON, ATH_ENCRYPT_OFF };

/* A client's wishes. authorities: the file of certificates by which the server must prove itself on
 * encrypted connections, in addition to the key; NULL: the key is enough. */
struct ath_encryption {
    enum ath_encrypt policy;
    const char *authorities;
};

/* Reads "auto", "on" or "off"; NULL means auto. Returns 0, or -EINVAL. */
int ath_encrypt_parse(const char *text, enum ath_encrypt *out);

/* Returns the word of a policy, as ath_encrypt_parse() reads it. */
const char *ath_encrypt_word(enum ath_encrypt policy);

/* Returns whether the socket of a connection is a TCP socket. */
bool ath_encrypt_can(int fd);

/* Returns whether this connection must be encrypted. */
bool ath_encrypt_wants(enum ath_encrypt policy, int fd, bool has_key);
