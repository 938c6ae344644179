/* Describes the sampler to the code that starts and ends helpers. */
#include "config.h"

#include "runtime/sampler.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/process_name.h"
#include "runtime/clients.h"
#include "runtime/event_log.h"
#include "runtime/gpu_sampler.h"

static void run(struct ath_listener *listener, pid_t parent)
{
    static _Atomic uint64_t missing_lines; /* those of this process are not counted on the board */
    ath_clients_leave(listener, parent);
    ath_secret_free(&listener->server.secret);
    if (ath_session_board_confine_sampler(listener->server.board) || ath_sandbox_close_inherited())
        _exit(EXIT_FAILURE);
    ath_event_log_count_in(&missing_lines);
    ath_gpu_sampler_run(&listener->server);
}

static bool is_busy(const struct ath_listener *listener)
{
    (void)listener;
    return true;
}

static const _Atomic uint64_t *beat_ms(const struct ath_session_board *board)
{
    return &board->samples.beat_ms;
}

const struct ath_helper_kind ath_sampler_kind = {
    .name = "sampler",
    .process_name = ATH_SAMPLER_NAME,
    .begin_ms = 60000, /* NVML takes seconds for GPUs without persistence mode */
    .hangs_ms = 10000, /* a sample takes less than a second */
    .look_ms = 5000,
    .pause_ms = 1000,
    .longest_pause_ms = 300000,
    .soon_ms = 300000,
    .useless_code = ATH_SAMPLER_NO_LIBRARY,
    .is_busy = is_busy,
    .beat_ms = beat_ms,
    .run = run,
};
