/* Chooses the GPUs of `aitherion run --gpus K` by links and health, and reserves them at the
 * servers. */
#include "config.h"

#include "cli/commands/run_gpus.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/output/words.h"
#include "gpu/health.h"
#include "place/set.h"
#include "remote/session/device_list.h"
#include "remote/session/open.h"
#include "remote/session/sessions.h"

int ath_run_gpus_read(const char *text, size_t *out, struct ath_err *err)
{
    int value;

    if (ath_parse_int(text, 1, ATH_DEVICES_MAX, &value)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no number of GPUs"), text);
        return ath_err_hint(err, -EINVAL, _("give a number from 1 to %d"), ATH_DEVICES_MAX);
    }
    if (ath_client_is_disabled()) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("'--gpus' finds no GPU: AITHERION_DISABLE=1 hides all"));
        return ath_err_hint(err, -EINVAL, "unset AITHERION_DISABLE");
    }
    *out = (size_t)value;
    return 0;
}

static size_t count_if(const bool *flags, size_t count)
{
    size_t set = 0;
    for (size_t i = 0; i < count; i++)
        set += flags[i];
    return set;
}

static int refuse(const struct ath_server_gpus *gpus, size_t wanted, size_t visible,
                  struct ath_err *err)
{
    ath_err_set(
        err, -EINVAL, ATH_E_MISFIT,
        ngettext("cannot choose %zu GPU: of the %zu that the runtimes serve, the program may "
                 "use %zu",
                 "cannot choose %zu GPUs: of the %zu that the runtimes serve, the program "
                 "may use %zu",
                 wanted),
        wanted, gpus->count + gpus->forbidden_count, visible);
    if (visible < gpus->count)
        return ath_err_hint(err, -EINVAL,
                            _("CUDA_VISIBLE_DEVICES hides some: unset it, or ask for "
                              "fewer"));
    if (gpus->forbidden_count)
        return ath_err_hint(err, -EINVAL,
                            _("the key may not use all of them: on the runtime's "
                              "machine, aitherion key list"));
    return ath_err_hint(err, -EINVAL,
                        _("ask for fewer, or name more runtimes: --server "
                          "HOST:PORT,HOST:PORT"));
}

/* The choosing of one run. */
struct choosing {
    const struct ath_server_gpus *gpus;
    bool *is_free; /* for each GPU: may be chosen */
    size_t free_count, visible_count, idle_count;
    bool are_idle; /* all that may be chosen */
    size_t wanted;
    int64_t *bandwidths; /* NULL: there was nothing to choose */
};

static void choosing_free(struct choosing *choosing)
{
    free(choosing->is_free);
    free(choosing->bandwidths);
}

static bool is_poor(const struct ath_server_gpu *gpu)
{
    return gpu->health_score >= 0 && gpu->health_score < ATH_GPU_SCORE_POOR;
}

/* Lets choose among the idle GPUs that are well; if they are too few, among all that are well, and
 * then among all visible ones. */
static void take_candidates(struct choosing *choosing)
{
    static const struct {
        bool is_idle, is_well;
    } needs[] = { { true, true }, { false, true }, { false, false } };
    const struct ath_server_gpus *gpus = choosing->gpus;

    for (size_t i = 0; i < gpus->count; i++) {
        choosing->visible_count += gpus->items[i].is_visible;
        choosing->idle_count += gpus->items[i].is_visible && gpus->items[i].is_idle;
    }
    for (size_t n = 0; n < ATH_COUNT(needs); n++) {
        for (size_t i = 0; i < gpus->count; i++)
            choosing->is_free[i] = gpus->items[i].is_visible &&
                                   (gpus->items[i].is_idle || !needs[n].is_idle) &&
                                   (!is_poor(&gpus->items[i]) || !needs[n].is_well);
        choosing->free_count = count_if(choosing->is_free, gpus->count);
        choosing->are_idle = needs[n].is_idle;
        if (choosing->free_count >= choosing->wanted)
            break;
    }
}

static int search(const struct choosing *choosing, struct ath_set_choice *out, struct ath_err *err)
{
    size_t count = choosing->gpus->count;
    ath_auto_free int64_t *unknown = ath_xalloc(count * count * sizeof *unknown);

    for (size_t i = 0; i < count * count; i++)
        unknown[i] = ATH_SET_UNKNOWN_FAR;
    const struct ath_set_request request = {
        .gpu_count = count,
        .bandwidths = choosing->bandwidths ? choosing->bandwidths : unknown,
        .is_free = choosing->is_free,
        .size = choosing->wanted,
        .group_count = 1,
    };
    int status = ath_set_best(&request, out);
    return status ? ath_err_set(err, status, ATH_E_MISFIT,
                                _("the bandwidths between the GPUs are too large to add up"))
                  : 0;
}

static void add_line(struct ath_texts *lines, char *line)
{
    ath_texts_add(lines, line);
    free(line);
}

static bool is_chosen(const struct ath_set_choice *best, size_t gpu)
{
    for (size_t i = 0; i < best->size; i++)
        if (best->gpus[i] == gpu)
            return true;
    return false;
}

/* Names the GPUs whose health score is poor. */
static void add_health(const struct choosing *choosing, const struct ath_set_choice *best,
                       struct ath_run_choice *out)
{
    for (size_t i = 0; i < choosing->gpus->count; i++) {
        const struct ath_server_gpu *gpu = &choosing->gpus->items[i];
        const char *format =
            is_chosen(best, i) ? _("GPU%d is chosen with a health score of %d of 100, because too "
                                   "few others are free or fit")
                               : _("GPU%d is avoided, because its health score is %d of 100");
        if (gpu->is_visible && is_poor(gpu))
            add_line(&out->why, ath_xasprintf(format, (int)i, gpu->health_score));
    }
}

/* Why these GPUs: lines for people. */
static void add_reasons(const struct choosing *choosing, const struct ath_set_choice *best,
                        struct ath_run_choice *out)
{
    ath_auto_free char *gpus = ath_words_gpu_list(best->gpus, best->size);
    ath_auto_free char *bandwidth = ath_words_bandwidth(best->ring_bandwidth);

    if (choosing->free_count == choosing->wanted)
        add_line(&out->why, ath_xasprintf(_("%s: there are no others to choose from"), gpus));
    else if (best->size == 1)
        add_line(&out->why, ath_xasprintf(_("%s: the other GPUs keep the best links"), gpus));
    else if (best->ring_bandwidth < 0)
        add_line(&out->why, ath_xasprintf(_("%s: a link of their best ring has an unknown "
                                            "bandwidth"),
                                          gpus));
    else
        add_line(&out->why, ath_xasprintf(_("%s: the best ring through them has %s at its slowest "
                                            "link"),
                                          gpus, bandwidth));
    add_health(choosing, best, out);
    if (!choosing->are_idle)
        add_line(&out->why, ath_xasprintf(_("other sessions use some of them: %zu of %zu GPUs are "
                                            "idle"),
                                          choosing->idle_count, choosing->visible_count));
    else if (choosing->idle_count < choosing->visible_count)
        add_line(&out->why, ath_xasprintf(_("chosen among the %zu of %zu GPUs that no session uses "
                                            "now"),
                                          choosing->idle_count, choosing->visible_count));
}

static void take(const struct choosing *choosing, const struct ath_set_choice *best,
                 const char *const *servers, struct ath_run_choice *out)
{
    out->gpus = ath_xalloc(best->size * sizeof *out->gpus);
    out->count = best->size;
    out->ring_bandwidth = choosing->bandwidths ? best->ring_bandwidth : ATH_UNKNOWN;
    out->visible = ath_server_gpus_value(choosing->gpus, best->gpus, best->size);
    for (size_t i = 0; i < best->size; i++) {
        const struct ath_server_gpu *gpu = &choosing->gpus->items[best->gpus[i]];
        out->gpus[i] = (struct ath_run_gpu){ .index = best->gpus[i],
                                             .server = servers[gpu->server],
                                             .name = gpu->name,
                                             .uuid = gpu->uuid };
        if (gpu->has_pci)
            ath_pci_format(&gpu->pci, out->gpus[i].pci);
    }
    add_reasons(choosing, best, out);
    for (size_t i = 0; i < out->why.count; i++)
        ath_log(ATH_LOG_VERBOSE, "--gpus %zu: %s", best->size, out->why.items[i]);
}

/* ---- reservations ---- */

/* Returns a bit for each chosen device of a server. */
static uint64_t chosen_of(const struct choosing *choosing, const struct ath_set_choice *best,
                          size_t server)
{
    uint64_t devices = 0;
    for (size_t i = 0; i < best->size; i++) {
        const struct ath_server_gpu *gpu = &choosing->gpus->items[best->gpus[i]];
        if (gpu->server == server && gpu->device < ATH_DEVICES_MAX)
            devices |= UINT64_C(1) << gpu->device;
    }
    return devices;
}

/* Returns false if another program was faster. A server that reserves nothing is no obstacle. */
static bool reserve_at(const char *server, uint64_t devices)
{
    ATH_AUTO(ath_session) session = { .fd = -1 };
    struct ath_err err;

    if (!devices || ath_client_open(server, NULL, &session, &err))
        return true;
    int status = ath_session_reserve(&session, devices, &err);
    if (status && status != -ENOENT)
        ath_log(ATH_LOG_VERBOSE, "--gpus: %s", err.message);
    return status != -ENOENT;
}

/* Reserves the chosen GPUs. Marks those of a server where one of them is taken as not idle, and
 * returns false then. GPUs that are in use anyway are not reserved. */
static bool reserve(const struct choosing *choosing, const struct ath_set_choice *best,
                    const char *const *servers, struct ath_server_gpus *gpus)
{
    bool are_reserved = true;

    for (size_t server = 0; choosing->are_idle && server < gpus->server_count; server++) {
        if (reserve_at(servers[server], chosen_of(choosing, best, server)))
            continue;
        are_reserved = false;
        for (size_t i = 0; i < best->size; i++)
            if (gpus->items[best->gpus[i]].server == server)
                gpus->items[best->gpus[i]].is_idle = false;
    }
    return are_reserved;
}

/* ---- all ---- */

/* Chooses once. *out_is_taken: another program was faster. */
static int choose(struct ath_server_gpus *gpus, const char *const *servers, size_t wanted,
                  bool reserves, struct ath_run_choice *out, bool *out_is_taken,
                  struct ath_err *err)
{
    ATH_AUTO(ath_set_choice) best = { 0 };
    ATH_AUTO(choosing)
    choosing = {
        .gpus = gpus,
        .is_free = ath_xalloc(gpus->count * sizeof *choosing.is_free),
        .wanted = wanted,
    };

    take_candidates(&choosing);
    if (choosing.visible_count < wanted)
        return refuse(gpus, wanted, choosing.visible_count, err);
    if (choosing.free_count > wanted)
        choosing.bandwidths = ath_server_gpus_matrix(gpus, servers);
    int status = search(&choosing, &best, err);
    *out_is_taken = !status && reserves && !reserve(&choosing, &best, servers, gpus);
    if (!status && !*out_is_taken)
        take(&choosing, &best, servers, out);
    return status;
}

/* Each further choice has fewer idle GPUs, and one without any is not refused. */
int ath_run_gpus_choose(struct ath_server_gpus *gpus, const char *const *servers, size_t wanted,
                        bool reserves, struct ath_run_choice *out, struct ath_err *err)
{
    bool is_taken = true;
    int status = 0;

    ath_server_gpus_hide(gpus);
    while (!status && is_taken)
        status = choose(gpus, servers, wanted, reserves, out, &is_taken, err);
    return status;
}
