/* aitherion session limit: limits the GPU memory that a program may use. */
#include "config.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/session_id.h"
#include "cli/output/session.h"
#include "cli/reach.h"

enum { DEVICE_MAX = 1023 };

struct options {
    struct ath_reach_options reach;
    const char *device;
};

static int read_words(const struct ath_cli *cli, const struct options *options, uint64_t *out_id,
                      struct ath_session_change *out, struct ath_err *err)
{
    if (options->device && ath_parse_int(options->device, 0, DEVICE_MAX, &out->device))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not the number of a GPU"),
                           options->device);
    int status = ath_session_id_parse(cli->arguments[0], out_id, err);
    return status ? status : ath_session_limit_parse(cli->arguments[1], &out->limit_bytes, err);
}

/* Returns the memory that a session uses on a device. */
static int64_t used_by(const struct ath_runtime_sessions *sessions, uint64_t id, int device)
{
    for (size_t i = 0; i < sessions->count; i++)
        for (size_t j = 0; sessions->items[i].id == id && j < sessions->items[i].use_count; j++) {
            const struct ath_runtime_use *use = &sessions->items[i].uses[j];
            if ((int)use->device == device && use->memory_used_bytes != ATH_UNKNOWN)
                return use->memory_used_bytes;
        }
    return 0;
}

static int limit(struct ath_session *session, const struct options *options,
                 struct ath_session_change *change, struct ath_err *err)
{
    ATH_AUTO(ath_runtime_sessions) sessions = { 0 };
    int status = ath_session_list(session, &sessions, err);
    if (!status)
        status = ath_session_id_check(&sessions, change->ids[0], &options->reach, err);
    change->used_bytes = used_by(&sessions, change->ids[0], change->device);
    if (status || change->is_dry_run)
        return status;
    return ath_session_limit(session, change->ids[0], (uint32_t)change->device, change->limit_bytes,
                             err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_reach) reach = { 0 };
    ATH_AUTO(ath_session) session = { .fd = -1 };
    uint64_t id = 0;
    struct ath_session_change change = { .action = ATH_SESSION_LIMIT,
                                         .is_dry_run = cli->globals.is_dry_run,
                                         .ids = &id,
                                         .id_count = 1 };

    int status = read_words(cli, options, &id, &change, err);
    if (!status)
        status = ath_reach_open(cli, &options->reach, ATH_REACH_ONE, &reach, err);
    if (!status)
        status = ath_reach_session(&reach, &reach.items[0], &session, err);
    if (!status)
        status = limit(&session, options, &change, err);
    if (status)
        return status;
    change.server = reach.items[0].server;
    return ath_cli_show_done(cli, &ath_session_change_view, &change, err);
}

static const struct ath_argument arguments[] = {
    { .name = "SESSION",
      .help = N_("number of the session, as `session list` shows it"),
      .completion = ATH_COMPLETE_SESSION },
    { .name = "SIZE", .help = N_("a size like 512M or 4G; none: no limit") },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "device",
      .type = ATH_OPTION_TEXT,
      .metavar = "N",
      .offset = offsetof(struct options, device),
      .help = N_("the GPU's number in the runtime's list (default: 0)") },
    ATH_REACH_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion session limit 7 4G", N_("limit its memory of GPU 0") },
    { "aitherion session limit 7 none", N_("remove the limit") },
    { .command = NULL },
};

const struct ath_command ath_command_session_limit = {
    .name = "limit",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("limit the GPU memory of a session"),
    .description =
        N_("Limits the memory of a GPU that a program may use, in addition to the share for all "
           "sessions of the runtime together (vram_fraction of the document). Memory that the "
           "program has already stays. More is refused with CUDA's own out-of-memory error, and "
           "cuMemGetInfo reports the limit. The limit ends with the session."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
