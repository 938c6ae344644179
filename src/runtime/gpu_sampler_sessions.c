/* The time that sessions used the devices, by NVML's samples of processes. */
#include "config.h"

#include "runtime/gpu_sampler_state.h"

#include <sys/stat.h>
#include <time.h>

enum {
    PROCESSES_MAX = 1024, /* of one device */
    GAP_US = 3000000,     /* the longest time that a sample of a process stands for */
};

/* The host's own namespace of processes (PROC_PID_INIT_INO in the kernel's
 * include/linux/proc_ns.h). */
#define HOST_PID_NAMESPACE UINT32_C(0xEFFFFFFC)

/* What NVML writes for each process (nvmlProcessUtilizationSample_t). */
struct process_sample {
    unsigned int pid;
    unsigned long long time_us; /* since 1970 */
    unsigned int busy_percent, memory_percent, encoder_percent, decoder_percent;
};
_Static_assert(sizeof(struct process_sample) == sizeof(nvmlProcessUtilizationSample_t),
               "the layout of NVML's samples");

static unsigned long long real_time_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

/* The session at a slot that NVML tells about; NULL if it is another's process. */
static struct ath_session_sample *session_of(const struct ath_gpu_sampler *sampler,
                                             unsigned int pid)
{
    for (size_t i = 0; pid && i < ATH_SESSION_BOARD_MAX; i++)
        if (atomic_load(&sampler->board->known[i].id) &&
            (unsigned int)atomic_load(&sampler->board->known[i].process) == pid)
            return &sampler->samples->sessions[i];
    return NULL;
}

static void add_time(struct ath_gpu_sampler *sampler, struct ath_session_sample *session,
                     const struct process_sample *sample, unsigned long long since_us)
{
    unsigned long long span_us = sample->time_us > since_us ? sample->time_us - since_us : 0;
    int64_t busy = sample->busy_percent <= 100 ? sample->busy_percent : 100;
    if (span_us > GAP_US)
        span_us = GAP_US;
    atomic_store(&session->gpu_time_us,
                 atomic_load(&session->gpu_time_us) + (int64_t)span_us * busy / 100);
    int64_t *most = &sampler->busy_percent[session - sampler->samples->sessions];
    if (busy > *most)
        *most = busy;
}

void ath_gpu_sampler_sample_processes(struct ath_gpu_sampler *sampler, size_t number)
{
    static struct process_sample found[PROCESSES_MAX];
    unsigned int count = PROCESSES_MAX;
    unsigned long long since_us = sampler->seen_us[number];
    nvmlReturn_t status = sampler->nvml.nvmlDeviceGetProcessUtilization(
        sampler->devices[number], (nvmlProcessUtilizationSample_t *)found, &count, since_us);
    for (unsigned int i = 0; status == NVML_SUCCESS && i < count && i < PROCESSES_MAX; i++) {
        struct ath_session_sample *session = session_of(sampler, found[i].pid);
        if (session)
            add_time(sampler, session, &found[i], since_us);
        if (found[i].time_us > sampler->seen_us[number])
            sampler->seen_us[number] = found[i].time_us;
    }
    if (status != NVML_SUCCESS || !count)
        sampler->seen_us[number] = real_time_us();
}

void ath_gpu_sampler_begin_sessions(struct ath_gpu_sampler *sampler)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_session_sample *session = &sampler->samples->sessions[i];
        uint64_t id = atomic_load(&sampler->board->known[i].id);
        if (atomic_load(&session->id) != id) {
            atomic_store(&session->id, 0); /* no reader takes the old numbers for the new session */
            atomic_store(&session->gpu_time_us, 0);
            atomic_store(&session->busy_percent, 0);
        }
        atomic_store(&session->id, id);
        sampler->busy_percent[i] = 0;
    }
}

void ath_gpu_sampler_end_sessions(const struct ath_gpu_sampler *sampler)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        atomic_store(&sampler->samples->sessions[i].busy_percent, sampler->busy_percent[i]);
}

/* In a container NVML tells the process ids of the host, which no process here knows. */
static bool knows_processes(const struct ath_gpu_sampler *sampler)
{
    struct stat own;
    return sampler->nvml.nvmlDeviceGetProcessUtilization &&
           (sampler->server->is_simulated ||
            (!stat("/proc/self/ns/pid", &own) && own.st_ino == HOST_PID_NAMESPACE));
}

void ath_gpu_sampler_init_sessions(struct ath_gpu_sampler *sampler)
{
    for (size_t i = 0; i < sampler->server->devices.count; i++)
        sampler->seen_us[i] = real_time_us();
    sampler->knows_processes = knows_processes(sampler);
}
