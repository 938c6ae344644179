/* Checks the options of `aitherion run`, and finds its servers and libraries. */
#include "config.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/memory_limit.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/claim_options.h"
#include "cli/commands/run_gpus.h"
#include "cli/commands/run_local.h"
#include "cli/commands/run_work.h"
#include "remote/session/open.h"

void ath_run_work_free(struct ath_run_work *work)
{
    ath_reach_free(&work->reach);
    free(work->servers);
    free(work->libraries);
    free(work->driver);
    free(work->share);
    free(work->part);
    free(work->authorities);
    ath_server_gpus_free(&work->gpus);
    ath_run_choice_free(&work->choice);
    ath_texts_free(&work->docker);
}

/* Adds the folder of one of aitherion's libraries to the library path. */
static int add_folder(const char *name, struct ath_text *path, struct ath_err *err)
{
    ath_auto_free char *library = ath_path_library(name);
    if (!library) {
        ath_err_set(err, -ENOENT, ATH_E_LIBRARY, _("the client library '%s' is not installed"),
                    name);
        return ath_err_hint(err, -ENOENT, "make install");
    }
    ath_auto_free char *real = realpath(library, NULL);
    ath_text_add_part(path, ":", "%s", dirname(real ? real : library));
    return 0;
}

/* With several servers, the libcuda.so.1 that joins their GPUs in one list comes first. */
static int find_libraries(struct ath_run_work *work, struct ath_err *err)
{
    ATH_AUTO(ath_text) path = { 0 };
    const char *others = ath_client_variable("LD_LIBRARY_PATH");
    int status = 0;
    if (work->options->is_local)
        status = add_folder("local/libcuda.so.1", &path, err);
    else if (work->reach.count > 1)
        status = add_folder("several/libcuda.so.1", &path, err);
    if (!status && !work->options->is_local)
        status = add_folder("libcuda.so.1", &path, err);
    if (status)
        return status;
    if (others)
        ath_text_add_part(&path, ":", "%s", others);
    work->libraries = ath_text_take(&path);
    return 0;
}

static int check_transport(const struct ath_run_work *work, struct ath_err *err)
{
    if (!work->options->transport ||
        strcmp(ath_run_transports[work->options->transport], "shm") != 0)
        return 0;
    for (size_t i = 0; i < work->reach.count; i++) {
        const char *server = work->reach.items[i].server;
        if (ath_starts_with(server, "unix:"))
            continue;
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'shm' needs the runtime's socket, not '%s'"),
                    server);
        return ath_err_hint(err, -EINVAL, "--server unix:PATH");
    }
    return 0;
}

static int check_memory(const struct ath_run_work *work, struct ath_err *err)
{
    struct ath_memory_limit unused;
    const char *text = work->options->memory;
    if (!text || !ath_memory_limit_parse(text, &unused))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no limit of GPU memory"), text);
    return ath_err_hint(err, -EINVAL, _("give a size like 512M or 4G, or a part like 25%%"));
}

/* Reads --share, --cap and --sm-share. */
static int read_claim(struct ath_run_work *work, struct ath_err *err)
{
    const struct ath_run_options *options = work->options;
    struct ath_time_claim claim = { 0 };
    int status = ath_claim_options_share(options->share, options->is_capped, &claim, err);

    if (!status && claim.share_percent)
        work->share = ath_xasprintf("%d%s", claim.share_percent, claim.is_capped ? ",cap" : "");
    if (!status && options->sm_share)
        status = ath_claim_options_part(options->sm_share, &claim.sm_percent, err);
    if (!status && claim.sm_percent)
        work->part = ath_xasprintf("%d", claim.sm_percent);
    return status;
}

/* The variable of the caller counts before the document. The program may change its folder. */
static void find_authorities(struct ath_run_work *work)
{
    const struct ath_nodes *nodes = &work->reach.nodes;
    const char *path = work->options->tls_ca;
    if (!path && nodes->has_document && !ath_client_variable("AITHERION_TLS_CA"))
        path = nodes->document->tls_ca;
    ath_auto_free char *real = path ? realpath(path, NULL) : NULL;
    work->authorities = path ? ath_xstrdup(real ? real : path) : NULL;
}

/* ---- with the GPUs in the program's own process ---- */

/* Refuses options that say how calls travel. */
static int check_local(const struct ath_run_work *work, struct ath_err *err)
{
    const struct ath_run_options *options = work->options;
    const char *name = options->transport ? "transport"
                       : options->encrypt ? "encrypt"
                       : options->tls_ca  ? "tls-ca"
                                          : NULL;
    if (options->is_local && name)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("--%s does not work with --local"), name);
    return options->docker && !options->is_local
               ? ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s", _("--docker needs --local"))
               : 0;
}

/* The only runtime; without one the user's own, which this command starts. */
static int find_local(struct ath_run_work *work, struct ath_err *err)
{
    struct ath_reach *reach = &work->reach;
    int status = ath_reach_open(work->cli, &work->options->reach, ATH_REACH_ALL, reach, err);
    if (status)
        return status;
    if (!reach->count && work->options->docker) {
        ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, "%s",
                    _("no runtime is here that a container could use"));
        return ath_err_hint(err, -ENOENT, "aitherion start");
    }
    if (!reach->count) {
        struct ath_reach_server *own = ath_push(&reach->items, &reach->count, sizeof *own);
        ath_auto_free char *socket = ath_run_local_socket();
        *own = (struct ath_reach_server){ .id = ATH_UNSET,
                                          .server = ath_xasprintf("unix:%s", socket) };
        work->is_own = true;
        free(reach->key);
        reach->key = ath_xstrdup("");
        return work->cli->globals.is_dry_run ? 0 : ath_run_local_start(err);
    }
    if (reach->count > 1) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("%d runtimes are here, and --local needs one"),
                    (int)reach->count);
        return ath_err_hint(err, -EINVAL, "--numa N");
    }
    if (!reach->items[0].server) {
        ath_err_copy(err, &reach->items[0].err);
        return -EACCES;
    }
    if (ath_starts_with(reach->items[0].server, "unix:"))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("--local needs the runtime's socket, not '%s'"),
                reach->items[0].server);
    return ath_err_hint(err, -EINVAL, "--server unix:PATH");
}

int ath_run_find_driver(struct ath_run_work *work, struct ath_err *err)
{
    const char *simulated = ath_client_variable("AITHERION_SIM");
    bool is_simulated =
        work->is_simulated || (work->cli->globals.is_dry_run && simulated && *simulated != '0');
    return work->options->is_local ? ath_run_local_driver(is_simulated, &work->driver, err) : 0;
}

int ath_run_prepare(struct ath_run_work *work, struct ath_err *err)
{
    struct ath_reach_options wanted = work->options->reach;
    int checked = check_memory(work, err);
    if (!checked)
        checked = read_claim(work, err);
    if (!checked && work->options->gpus)
        checked = ath_run_gpus_read(work->options->gpus, &work->gpu_count, err);
    if (!checked)
        checked = check_local(work, err);
    if (checked)
        return checked;
    wanted.needs_network =
        work->options->transport && (!strcmp(ath_run_transports[work->options->transport], "tcp") ||
                                     !strcmp(ath_run_transports[work->options->transport], "udp"));
    int status = work->options->is_local
                     ? find_local(work, err)
                     : ath_reach_open(work->cli, &wanted, ATH_REACH_LIST, &work->reach, err);
    if (!status)
        status = check_transport(work, err);
    if (status)
        return status;
    ATH_AUTO(ath_text) servers = { 0 };
    for (size_t i = 0; i < work->reach.count; i++)
        ath_text_add_part(&servers, ",", "%s", work->reach.items[i].server);
    work->servers = ath_text_take(&servers);
    find_authorities(work);
    return find_libraries(work, err);
}
