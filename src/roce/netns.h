/*
 * Network namespaces: named ones as `ip netns` keeps them, and running code inside one.
 *
 * A named namespace is a file /run/netns/NAME with the namespace bound over it, on a mount that is
 * shared with other mount namespaces, so that `ip netns` and aitherion see each other's namespaces.
 *
 * Code runs inside a namespace on a thread of its own. setns() changes only the calling thread, so
 * the caller's namespace never changes, even on failure. Unlike a forked child, a thread leaves its
 * sockets and results in our memory. A netlink socket stays in the namespace where it was opened,
 * and any thread may use it afterwards.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ath_netlink;

#define ATH_NETNS_FOLDER "/run/netns"
#define ATH_NETNS_PREFIX "aitherion-" /* prefix of the namespaces that aitherion makes */

/* Returns "aitherion-NAME", the namespace in which the macvlan NAME is created. The caller frees
 * the name. */
char *ath_netns_name_of(const char *macvlan);

/* Returns "/run/netns/NAME". The caller frees the path. */
char *ath_netns_path(const char *name);

/* Returns "aitherion:NAME" for "aitherion-NAME": the alias of lo in a namespace of aitherion,
 * which tells it from a foreign namespace with such a name. A blank and the path of the document
 * that wants the macvlan may follow. Returns NULL for other names. The caller frees the text. */
char *ath_netns_label(const char *name);

/* True if a namespace is bound to the name; false for a leftover plain file. */
bool ath_netns_exists(const char *name);

/* Makes a named namespace. Its lo is down, and gets the label of ath_netns_label() if there is
 * one. Returns 0, or a negative errno with err: "exists". */
int ath_netns_create(const char *name, struct ath_err *err);

/* Removes the name; the namespace ends with its last process. Returns 0, or a negative errno with
 * err: "foreign" if the name lacks our prefix. */
int ath_netns_delete(const char *name, struct ath_err *err);

/* Unlinks the plain file that a killed ath_netns_create() may have left. */
void ath_netns_forget(const char *name);

/* Opens a namespace by its path ("/run/netns/NAME", "/proc/PID/ns/net"); NULL is the caller's own.
 * Returns a descriptor that the caller closes, or a negative errno with err. */
int ath_netns_open(const char *path, struct ath_err *err);

/* Runs function(argument, err) inside an open namespace, on a new thread that blocks all signals,
 * and waits for its end. Returns the function's result, or a negative errno with err. */
int ath_netns_run(int netns, int (*function)(void *argument, struct ath_err *err), void *argument,
                  struct ath_err *err);

/* Like ath_netlink_open(), but in the namespace at path; NULL is the caller's own. */
int ath_netns_netlink(const char *path, int bus, struct ath_netlink **out, struct ath_err *err);

/* True if the caller may make namespaces and change links: it has CAP_SYS_ADMIN and CAP_NET_ADMIN,
 * as root does. */
bool ath_netns_is_permitted(void);

/* A namespace that is bound to a name or held by a process. */
struct ath_netns {
    char *name; /* NULL if it has none */
    char *path; /* path for ath_netns_open(); NULL for the caller's own */
    uint64_t inode;
};

struct ath_netnses {
    struct ath_netns *items;
    size_t count;
};

void ath_netnses_free(struct ath_netnses *list);

/* Lists all namespaces, each once: the caller's own first, then named ones, then those of
 * processes that the caller may inspect (all of them takes root). The caller frees *out with
 * ath_netnses_free(). */
void ath_netnses_read(struct ath_netnses *out);
