/* The process of the sampler: loads NVML, and samples when samples are wanted. */
#include "config.h"

#include "runtime/gpu_sampler_state.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "proto/gpu-control.h"
#include "runtime/driver_library.h"
#include "runtime/event_log.h"

enum {
    TICK_MS = 1000,    /* between samples, and looks whether one is wanted */
    RARE_MS = 15000,   /* between samples if no client asks and no program has a session */
    ASKED_MS = 10000,  /* a client asks for so long after a question */
    HEALTH_MS = 10000, /* between samples that compute the scores */
};

static const char *const names[] = { ATH_GPU_SAMPLER_FUNCTIONS(ATH_LATE_NAME) };

static void beat(const struct ath_gpu_sampler *sampler)
{
    atomic_store(&sampler->samples->beat_ms, ath_now_ms());
}

/* ---- when ---- */

static bool is_asked(uint64_t asked_ms, uint64_t now_ms)
{
    return asked_ms && asked_ms <= now_ms && now_ms - asked_ms < ASKED_MS;
}

/* Returns whether a program has a session, or a client asks for figures. */
static bool is_wanted(const struct ath_gpu_sampler *sampler, uint64_t now_ms)
{
    const struct ath_session_board *board = sampler->board;
    bool is_wanted = is_asked(atomic_load(&board->asked_ms), now_ms);
    for (size_t i = 0; !is_wanted && i < ATH_SESSION_BOARD_MAX; i++)
        is_wanted = atomic_load(&board->known[i].id) &&
                    (atomic_load(&board->known[i].purpose) == ATH_GPU_PURPOSE_CUDA ||
                     is_asked(atomic_load(&board->slots[i].entry.asked_ms), now_ms));
    return is_wanted;
}

static void sample(struct ath_gpu_sampler *sampler, uint64_t now_ms)
{
    bool judges = !sampler->judged_ms || now_ms - sampler->judged_ms >= HEALTH_MS;
    if (judges)
        sampler->judged_ms = now_ms;
    ath_gpu_sampler_take_events(sampler);
    if (sampler->knows_processes)
        ath_gpu_sampler_begin_sessions(sampler);
    for (size_t i = 0; i < sampler->server->devices.count; i++) {
        ath_gpu_sampler_ask(sampler, i);
        if (sampler->devices[i] && sampler->knows_processes)
            ath_gpu_sampler_sample_processes(sampler, i);
        if (judges)
            ath_gpu_sampler_judge_health(sampler, i);
        beat(sampler);
    }
    if (sampler->knows_processes)
        ath_gpu_sampler_end_sessions(sampler);
    atomic_store(&sampler->samples->sampled_ms, ath_now_ms());
}

/* ---- the beginning ---- */

static void load(struct ath_gpu_sampler *sampler)
{
    void *library;
    struct ath_err err;
    if (ath_driver_library_open(sampler->server->is_simulated, "libnvidia-ml.so.1", &library,
                                &err)) {
        ath_event_log(ATH_EVENT_WARNING, "no-nvml", "message", err.message, NULL);
        _exit(ATH_SAMPLER_NO_LIBRARY);
    }
    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        void *function = dlsym(library, names[i]);
        memcpy((char *)&sampler->nvml + i * sizeof function, &function, sizeof function);
    }
    ath_gpu_nvml_load(library, &sampler->health);
    if (!sampler->nvml.nvmlInit_v2)
        _exit(ATH_SAMPLER_NO_LIBRARY);
    nvmlReturn_t status = sampler->nvml.nvmlInit_v2();
    if (status == NVML_SUCCESS)
        return;
    ath_auto_free char *number = ath_xasprintf("%d", (int)status);
    ath_event_log(ATH_EVENT_WARNING, "no-nvml", "message", "nvmlInit_v2() failed", "error", number,
                  NULL);
    _exit(ATH_SAMPLER_NO_DRIVER);
}

void ath_gpu_sampler_run(const struct ath_server *server)
{
    static struct ath_gpu_sampler sampler; /* of this process */
    struct ath_err err;
    sampler = (struct ath_gpu_sampler){ .server = server,
                                        .board = server->board,
                                        .samples = &server->board->samples };
    if (ath_root_open("/", &sampler.root, &err))
        sampler.root.fd = -1;
    load(&sampler);
    for (size_t i = 0; i < server->devices.count; i++)
        ath_gpu_sampler_find_device(&sampler, i);
    ath_gpu_sampler_init_sessions(&sampler);
    ath_gpu_sampler_begin_events(&sampler);
    for (uint64_t last_ms = 0;;) {
        uint64_t now_ms = ath_now_ms();
        beat(&sampler);
        if (!last_ms || now_ms - last_ms >= RARE_MS || is_wanted(&sampler, now_ms)) {
            sample(&sampler, now_ms);
            last_ms = now_ms;
        }
        nanosleep(&(struct timespec){ .tv_sec = TICK_MS / 1000 }, NULL);
    }
}
