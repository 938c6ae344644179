/*
 * The keys that a server accepts. One file is a key with the identity `default`. A folder has a key
 * in each file, whose name is the identity; it is read for each handshake, so a key that is added
 * counts at once, and a key that is removed opens no more sessions.
 */
#pragma once
#include "base/key_name.h"
#include "remote/wire/secret.h"
#include "runtime/server.h"
#include "runtime/session_report.h"

/* Returns whether clients must prove a key. */
bool ath_server_wants_key(const struct ath_server *server);

/*
 * Finds the key that a client names (empty: the default), for the process of its session. With one
 * key, any name means it. Without such a key *out gets random bytes, so that a client learns no
 * names of keys: its proof is wrong like any other. Returns 0, or a negative errno with err if the
 * kernel gives no random bytes or memory runs out. out_identity gets the name for people.
 */
int ath_server_keys_find(const struct ath_server *server, const char *name, struct ath_secret *out,
                         char out_identity[ATH_KEY_NAME_BYTES], struct ath_key_version *out_version,
                         struct ath_err *err);

/* Returns whether the folder still has the key of an identity, with the same content. Always true
 * with one key, which is read once. */
bool ath_server_keys_has(const struct ath_server *server, const char *identity,
                         const struct ath_key_version *version);

/* Finds the folder or the only key of a server. Returns 0, or a negative errno with err if there
 * is no usable one. */
int ath_server_keys_open(const char *path, struct ath_server *server, struct ath_err *err);

/* Overwrites the keys in this process's memory, for a session's process that has done with them.
 * ath_server_wants_key() says the same as before. */
void ath_server_keys_forget(const struct ath_server *server);
