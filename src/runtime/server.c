/* Facts of a server about itself: its options, its devices, its host. */
#include "config.h"

#include "runtime/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/root.h"
#include "base/text.h"
#include "runtime/encryption.h"
#include "runtime/listen_address.h"
#include "runtime/server_keys.h"

enum {
    HANDSHAKE_MS = 5000,
    IDLE_MS = 30000,
    ANSWER_MS = 10000,
};

#define HOST_FRACTION 0.5

static int parse_gpus(const char *text, struct ath_pci **out, size_t *out_count,
                      struct ath_err *err)
{
    ath_auto_free char *copy = ath_xstrdup(text);
    char *rest = copy, *word;
    while (rest && (word = strsep(&rest, ","))) {
        struct ath_pci address;
        if (!*word)
            continue;
        if (ath_pci_parse(word, &address))
            return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                               _("'%s' is no PCI address like 0004:04:00.0, nor none alone"), word);
        struct ath_pci *added = ath_push(out, out_count, sizeof **out);
        *added = address;
    }
    return 0;
}

static int find_devices(const struct ath_runtime_options *options, struct ath_server *server,
                        struct ath_err *err)
{
    ath_auto_free struct ath_pci *wanted = NULL;
    size_t count = 0;
    bool is_none = options->gpus && strcmp(options->gpus, "none") == 0;
    int status = options->gpus && !is_none ? parse_gpus(options->gpus, &wanted, &count, err) : 0;
    if (status)
        return status;
    server->is_simulated = options->is_sim;
    if (is_none)
        return 0; /* the user asked for no GPU; this is no fault, unlike a machine without one */
    ath_devices_find(options->is_sim, wanted, count, &server->devices);
    return 0;
}

static int parse_fraction(const char *text, double value, double *out, struct ath_err *err)
{
    if (text && (ath_parse_double(text, &value) || value <= 0 || value > 1))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'%s' is no fraction above 0 and at most 1"), text);
    *out = value;
    return 0;
}

static int parse_sharing(const char *text, enum ath_gpu_sharing *out, struct ath_err *err)
{
    for (int i = ATH_GPU_SHARING_AUTO; i <= ATH_GPU_SHARING_FREE; i++)
        if (!strcmp(text ? text : "auto", ath_gpu_sharing_word((unsigned int)i))) {
            *out = (enum ath_gpu_sharing)i;
            return 0;
        }
    return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not auto, turns or free"), text);
}

static void find_host(struct ath_server *server)
{
    struct ath_root root = { .fd = -1 };
    struct ath_err err;
    struct stat status;
    const char *node = getenv("AITHERION_NUMA");

    gethostname(server->hostname, sizeof server->hostname - 1);
    snprintf(server->node, sizeof server->node, "%s", node ? node : "");
    if (!stat("/proc/self/ns/net", &status))
        server->net_namespace = status.st_ino;
    if (ath_root_open("/", &root, &err))
        return;
    ath_auto_free char *boot_id = ath_root_read(&root, "proc/sys/kernel/random/boot_id");
    snprintf(server->boot_id, sizeof server->boot_id, "%s", boot_id ? boot_id : "");
    ath_root_free(&root);
}

/* A group may read a key, as the README has it for ordinary users. */
static void note_open_key(const char *path, struct ath_devices *devices)
{
    struct stat file;
    if (!stat(path, &file) && S_ISREG(file.st_mode) && file.st_mode & S_IROTH)
        ath_devices_add_problem(devices, false, "key-readable", path,
                                N_("all users of this host may read the shared key, and so use the "
                                   "GPUs: chmod 600"));
}

int ath_server_init(const struct ath_runtime_options *options, struct ath_server *server,
                    struct ath_err *err)
{
    *server = (struct ath_server){ .started_ms = ath_now_ms(),
                                   .report_fd = -1,
                                   .turns_fd = -1,
                                   .owner = geteuid(),
                                   .handshake_ms = HANDSHAKE_MS,
                                   .idle_ms = IDLE_MS,
                                   .answer_ms = ANSWER_MS };
    int status = parse_fraction(options->vram_fraction, 1, &server->vram_fraction, err);
    if (!status)
        status = parse_fraction(options->host_fraction, HOST_FRACTION, &server->host_fraction, err);
    if (!status)
        status = parse_sharing(options->sharing, &server->sharing, err);
    if (!status)
        status = options->is_no_auth
                     ? 0
                     : ath_server_keys_open(ath_listen_address_key_path(options), server, err);
    if (!status)
        status = ath_server_encryption_choose(options, server, err);
    if (!status)
        status = find_devices(options, server, err);
    if (status)
        return status;
    if (!ath_server_wants_key(server))
        ath_devices_add_problem(
            &server->devices, false, "no-auth", "",
            N_("sessions need no key: any process that reaches the server may use it"));
    else
        note_open_key(ath_listen_address_key_path(options), &server->devices);
    if (ath_server_wants_key(server) && server->encrypt == ATH_ENCRYPT_OFF)
        ath_devices_add_problem(&server->devices, false, "not-encrypted", "",
                                N_("TCP connections are not encrypted: any machine on the network "
                                   "path can read and change them"));
    server->only_counts = options->is_no_enforce;
    if (server->only_counts)
        ath_devices_add_problem(
            &server->devices, false, "not-enforced", "",
            N_("limits of GPU memory are counted only: sessions may go beyond them"));
    find_host(server);
    server->board = ath_session_board_make();
    if (server->board)
        return 0;
    status = ath_err_system(err, -errno, "%s", _("no memory for sessions"));
    return status == -EFBIG ? ath_err_hint(err, status, "ulimit -f unlimited") : status;
}
