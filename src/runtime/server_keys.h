/*
 * The keys that a server accepts. One file is a key with the identity `default`. A folder has a key
 * in each file, whose name is the identity; it is read for each handshake, so a key that is added
 * counts at once, and a key that is removed opens no more sessions.
 */
#pragma once
#include "base/key_name.h"
#include "remote/wire/secret.h"
#include "runtime/server.h"

/* Whether clients must prove a key. */
bool ath_server_wants_key(const struct ath_server *server);

/*
 * Finds the key that a client names (empty: the default), for the process of its session. With one
 * key, any name means it. Without such a key *out gets random bytes, so that a client learns no
 * names of keys: its proof is wrong like any other. Returns 0, or a negative errno with err if the
 * kernel gives no random bytes or memory runs out. out_identity gets the name for people.
 */
int ath_server_keys_find(const struct ath_server *server, const char *name, struct ath_secret *out,
                         char out_identity[ATH_KEY_NAME_BYTES], struct ath_err *err);

/* Overwrites the keys in this process's memory, for a session's process that has done with them.
 * ath_server_wants_key() says the same as before. */
void ath_server_keys_forget(const struct ath_server *server);
