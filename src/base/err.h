/*
 * Errors: a stable code word for programs, a sentence and a hint for people.
 *
 * A function that can fail returns 0 (or a count) or a negative errno and takes `struct ath_err
 * *err` last. The function that knows the cause fills err. Callers pass it on or add context with
 * ath_err_wrap(). Only cli prints. Message: lower case, the object in single quotes, no full stop.
 * Hint: a command that the user can run.
 */
#pragma once
#include <stddef.h>

/* Every code word with its meaning. The man page's list is made from this table. */
#define ATH_ERROR_TABLE(X)                                                                         \
    X(USAGE, "usage", N_("the command line is wrong"))                                             \
    X(NOT_FOUND, "not-found", N_("a file, folder or device does not exist"))                       \
    X(NO_ACCESS, "no-access", N_("the system refuses access to a file or device"))                 \
    X(IO, "io-error", N_("reading or writing failed"))                                             \
    X(NO_SPACE, "no-space", N_("the disk or the quota is full; the old file is still whole"))      \
    X(EXISTS, "exists", N_("the object exists already"))                                           \
    X(LOCKED, "locked", N_("another process is changing the same document"))                       \
    X(LIBRARY, "library-missing", N_("a shared library that this command needs is not installed")) \
    X(ROOT_INVALID, "root-invalid", N_("the folder given with --root is not a captured root"))     \
    X(TOPOLOGY_INVALID, "topology-invalid", N_("the file given with --topology cannot be read"))   \
    X(NO_NUMA, "no-numa", N_("no NUMA node can be seen, not even one"))                            \
    X(DOCUMENT_INVALID, "document-invalid", N_("the topology document has faults"))                \
    X(CLUSTER_INVALID, "cluster-invalid", N_("the description of a cluster has faults"))           \
    X(DOCUMENT_MISSING, "document-missing", N_("there is no topology document yet"))               \
    X(DOCUMENT_UNEDITABLE, "document-uneditable",                                                  \
      N_("the document is written in a form that cannot be edited by key"))                        \
    X(DOCUMENT_CHANGED, "document-changed",                                                        \
      N_("another process has changed the document in the meantime"))                              \
    X(KEY_UNKNOWN, "key-unknown", N_("the document has no such key"))                              \
    X(VALUE_INVALID, "value-invalid", N_("the value does not fit the key"))                        \
    X(PROFILE_UNKNOWN, "profile-unknown", N_("there is no such profile"))                          \
    X(NO_RDMA, "no-rdma", N_("this machine has no RDMA device, or too few of them"))               \
    X(RDMA_NOT_READY, "rdma-not-ready",                                                            \
      N_("an RDMA port is down, or its addresses are not usable yet"))                             \
    X(GID_UNUSABLE, "gid-unusable", N_("an RDMA port has no such GID, or none that can be used"))  \
    X(RDMA_UNREACHABLE, "rdma-unreachable", N_("two RDMA ports do not reach each other"))          \
    X(RDMA_FAILED, "rdma-failed", N_("an RDMA operation failed, or moved wrong data"))             \
    X(MEMLOCK, "memlock-low", N_("the limit for locked memory is too low for RDMA"))               \
    X(PEER_PROTOCOL, "peer-protocol",                                                              \
      N_("the other side is not aitherion, or a different version of it"))                         \
    X(PEER_FAILED, "peer-failed", N_("the other side gave up"))                                    \
    X(PEER_UNREACHABLE, "peer-unreachable",                                                        \
      N_("there is no network connection to the other side"))                                      \
    X(KEY_FILE, "key-file-invalid", N_("the file of the shared key does not hold a valid key"))    \
    X(KEY_REFUSED, "key-refused", N_("the two sides do not have the same key"))                    \
    X(WEB, "web-config-invalid", N_("the file for TLS and passwords of metrics cannot be used"))   \
    X(CERTIFICATE, "certificate-invalid",                                                          \
      N_("a file of certificates or of their private key cannot be used"))                         \
    X(CERTIFICATE_REFUSED, "certificate-refused",                                                  \
      N_("the server's certificate does not prove that it is the right server"))                   \
    X(NOT_ENCRYPTED, "not-encrypted",                                                              \
      N_("one side wants an encrypted connection, and the other does not"))                        \
    X(NO_TERMINAL, "no-terminal", N_("the menus need a terminal, and there is none"))              \
    X(UNSUPPORTED, "not-supported", N_("the kernel or the device cannot do this"))                 \
    X(BUSY, "busy", N_("another program or container is using it"))                                \
    X(PROGRAMS_RUNNING, "programs-running",                                                        \
      N_("the command would end running programs, and --yes was not given"))                       \
    X(LINK_NOT_ETHERNET, "link-not-ethernet", N_("the link is not an Ethernet link"))              \
    X(PARENT_UNSUITABLE, "parent-unsuitable", N_("the link cannot carry a macvlan of this kind"))  \
    X(ADDRESS_IN_USE, "address-in-use", N_("another link of this machine has the address"))        \
    X(NOT_PERMITTED, "not-permitted", N_("only root can do this"))                                 \
    X(MISFIT, "machine-mismatch", N_("the request does not fit this machine"))                     \
    X(FOREIGN, "foreign", N_("aitherion did not create the object and leaves it alone"))           \
    X(ENGINE_UNREACHABLE, "engine-unreachable",                                                    \
      N_("Docker does not answer on its socket, or closed the connection"))                        \
    X(ENGINE_DENIED, "engine-denied", N_("Docker or its socket denies access to this user"))       \
    X(ENGINE_TIMEOUT, "engine-timeout", N_("Docker took too long to answer"))                      \
    X(ENGINE_INVALID, "engine-invalid",                                                            \
      N_("the answer on the socket does not follow Docker's API"))                                 \
    X(ENGINE_VERSION, "engine-version", N_("Docker is too old or too new for this aitherion"))     \
    X(ENGINE_ERROR, "engine-error", N_("Docker could not carry out the request"))                  \
    X(CONFLICT, "conflict", N_("a container, network or image is in the wrong state for this"))    \
    X(IMAGE_MISSING, "image-missing", N_("Docker does not have the image"))                        \
    X(PORT_IN_USE, "port-in-use", N_("another program listens on the port already"))               \
    X(START_FAILED, "start-failed", N_("the started program ended at once"))                       \
    X(START_TIMEOUT, "start-timeout", N_("the started program does not answer in time"))           \
    X(BINARY, "binary-invalid", N_("a program or library is not an ELF file that can be packed"))  \
    X(DRIVER, "driver-failed", N_("the GPU driver crashed, hung or refused"))                      \
    X(INTERRUPTED, "interrupted", N_("the command was stopped by a signal"))                       \
    X(INTERNAL, "internal", N_("a bug in aitherion; please report it"))

enum ath_error {
    ATH_E_NONE,
#define X(name, word, meaning) ATH_E_##name,
    ATH_ERROR_TABLE(X)
#undef X
        ATH_E_COUNT
};

struct ath_err {
    enum ath_error code;
    char message[1024];
    char hint[512];
};

/* All of these accept NULL for err: a caller that does not need the error passes NULL, and the
 * status alone tells it about the failure. A function that looks into *err of a function that it
 * called takes an err of its own for that, or checks for NULL. */

/* Fills err, empties its hint and returns status, so that a caller can `return ath_err_set(...)`. A
 * message longer than err->message is cut. */
int ath_err_set(struct ath_err *err, int status, enum ath_error code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fills err for a failed system call: status, a negative errno, gives the code, and its text is
 * appended after ": ". */
int ath_err_system(struct ath_err *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the hint to a filled err; returns status. */
int ath_err_hint(struct ath_err *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prepends context to the message ("context: message"); returns status. */
int ath_err_wrap(struct ath_err *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends text to the message, without a separator; returns status. */
int ath_err_append(struct ath_err *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes err a copy of other, which must not be NULL. */
void ath_err_copy(struct ath_err *err, const struct ath_err *other);

/* Returns the stable word of a code ("not-found") and its untranslated meaning in one line. */
const char *ath_error_word(enum ath_error code);
const char *ath_error_meaning(enum ath_error code);
