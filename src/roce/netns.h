/*
 * Network namespaces: named ones as `ip netns` keeps them, and working inside one.
 *
 * A named namespace is a file /run/netns/NAME with the namespace bound over it, on a mount that is
 * shared with other mount namespaces, so that `ip netns` and we see each other's.
 *
 * Work inside a namespace is done by a thread of its own: setns() changes the calling thread alone,
 * so the caller's namespace never changes, whatever fails; and a thread, unlike a forked child,
 * leaves its sockets and results in our own memory. A netlink socket stays in the namespace it was
 * opened in and may be used by any thread afterwards.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ath_netlink;

#define ATH_NETNS_FOLDER "/run/netns"
#define ATH_NETNS_PREFIX "aitherion-" /* how the names of ours begin */

/* "aitherion-NAME", where the macvlan NAME is made; the caller frees it. */
char *ath_netns_name_of(const char *macvlan);

/* "/run/netns/NAME"; the caller frees it. */
char *ath_netns_path(const char *name);

/* "aitherion:NAME" for "aitherion-NAME": the alias that lo has in a namespace of ours, which tells
 * it from one that somebody else called so. NULL for other names; the caller frees it. */
char *ath_netns_label(const char *name);

/* True where a namespace is bound to the name; a left over plain file is none. */
bool ath_netns_exists(const char *name);

/* Makes a named namespace (its lo is down, and labelled where the name is one of ours). Returns 0,
 * or a negative errno with err: "exists". */
int ath_netns_create(const char *name, struct ath_err *err);

/* Takes the name away; the namespace ends with its last process. Refused with "foreign" where the
 * name is not one of ours. */
int ath_netns_delete(const char *name, struct ath_err *err);

/* Unlinks the plain file that a killed ath_netns_create() left; nothing where there is none. */
void ath_netns_forget(const char *name);

/* Opens a namespace by path ("/run/netns/NAME", "/proc/PID/ns/net"); NULL is the caller's own.
 * Returns a descriptor that the caller closes, or a negative errno with err. */
int ath_netns_open(const char *path, struct ath_err *err);

/* Runs function(argument, err) inside an open namespace, in a thread of its own without signals.
 * Returns what it returns, or a negative errno with err. */
int ath_netns_run(int netns, int (*function)(void *argument, struct ath_err *err), void *argument,
                  struct ath_err *err);

/* ath_netlink_open() in the namespace at path; NULL is the caller's own. */
int ath_netns_netlink(const char *path, int bus, struct ath_netlink **out, struct ath_err *err);

/* Whether the caller may make namespaces and change links: it has CAP_SYS_ADMIN and CAP_NET_ADMIN,
 * as root has. */
bool ath_netns_is_permitted(void);

/* A namespace that can be found: bound to a name, or held by a process. */
struct ath_netns {
    char *name; /* NULL without one */
    char *path; /* by which it opens; NULL for the caller's own */
    uint64_t inode;
};

struct ath_netnses {
    struct ath_netns *items;
    size_t count;
};

void ath_netnses_free(struct ath_netnses *list);

/* All of them, each once: the caller's own first, then by name, then those of processes (as far as
 * the caller may look at them, which takes root). */
void ath_netnses_read(struct ath_netnses *out);
