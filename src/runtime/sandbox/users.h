/*
 * Users for identities. Each identity has a user id that no account has, so the kernel keeps files,
 * processes and CUDA IPC memory of two identities apart. NVIDIA's driver lets two processes share
 * CUDA IPC memory only if their effective user ids are equal, so all sessions of an identity have
 * the same one.
 *
 * The ids come from 0x70000000 to 0x7ffdffff, which systemd's list of ids leaves unused
 * (systemd.io/UIDS-GIDS). In a user namespace without these ids (rootless containers) they come
 * from the upper half of the largest range that the namespace has. The id follows from the
 * identity's name, so it is the same for all servers of a host and after a restart, except if two
 * names of one server would have the same id: the second name gets the next free one.
 *
 * Only the listening process hands ids out.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/key_name.h"

struct ath_sandbox_user {
    char identity[ATH_KEY_NAME_BYTES];
    uid_t id;
};

/* {} is an empty table, to be initialised. */
struct ath_sandbox_users {
    uid_t first, count; /* the range; count 0: there is none */
    struct ath_sandbox_user *items;
    size_t item_count;
};

/* Finds the range of ids in the text of /proc/self/uid_map. */
void ath_sandbox_users_init(struct ath_sandbox_users *users, const char *uid_map);
void ath_sandbox_users_free(struct ath_sandbox_users *users);

/* The user id of an identity, the same at each call. (uid_t)-1: the range has no id left. */
uid_t ath_sandbox_users_find(struct ath_sandbox_users *users, const char *identity);
