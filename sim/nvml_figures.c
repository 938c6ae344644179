/* Functions of the simulated NVML about throughput and processes. */
#include "config.h"

#include "sim/nvml_figures.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)
#include "nvml/api/nvml_functions.h"
#pragma GCC visibility pop

#include "sim/facts.h"

enum {
    PCIE_SENT = 0, /* NVML_PCIE_UTIL_TX_BYTES */
    PCIE_KB_OF_PERCENT =
        10000, /* KB/s that the GPU sends for each percent; it receives twice that */
};

/* nvmlProcessUtilizationSample_t */
struct sample {
    unsigned int pid;
    unsigned long long time_us;
    unsigned int busy, memory, encoder, decoder;
};
_Static_assert(sizeof(struct sample) == sizeof(nvmlProcessUtilizationSample_t), "NVML's layout");

unsigned int sim_busy_percent(void)
{
    const char *text = getenv("AITHERION_SIM_BUSY");
    char *end;
    unsigned long percent = text ? strtoul(text, &end, 10) : 0;
    return text && *text && !*end && percent <= 100 ? (unsigned int)percent : 0;
}

bool sim_nvml_hangs(void)
{
    const char *text = getenv("AITHERION_SIM_NVML");
    return text && !strcmp(text, "hangs");
}

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
                                         unsigned int *value)
{
    unsigned int sent = sim_busy_percent() * PCIE_KB_OF_PERCENT;
    if (!device || !value || counter > PCIE_SENT + 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    *value = counter == PCIE_SENT ? sent : 2 * sent;
    return NVML_SUCCESS;
}

/* Returns whether a process was forked by the process that forked this one: a session beside the
 * server's sampler. */
static bool is_beside(unsigned int pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const char *got = fgets(line, sizeof line, file);
    fclose(file);
    const char *name_end = got ? strrchr(line, ')') : NULL;
    return name_end && strlen(name_end) > 4 &&
           strtoul(name_end + 4, NULL, 10) == (unsigned long)getppid();
}

static unsigned long long now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

/* Each process that the server has beside this one is as busy as the device: the simulated driver
 * does not know which of them compute. */
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t *utilization,
                                             unsigned int *processSamplesCount,
                                             unsigned long long lastSeenTimeStamp)
{
    unsigned int busy = sim_busy_percent(), found = 0;
    unsigned long long time_us = now_us();
    const struct dirent *entry;
    if (!device || !processSamplesCount)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!busy || time_us <= lastSeenTimeStamp)
        return NVML_ERROR_NOT_FOUND;
    DIR *folder = opendir("/proc");
    while (folder && (entry = readdir(folder))) {
        unsigned int pid = (unsigned int)strtoul(entry->d_name, NULL, 10);
        if (!pid || pid == (unsigned int)getpid() || !is_beside(pid))
            continue;
        struct sample sample = { .pid = pid, .time_us = time_us, .busy = busy };
        if (utilization && found < *processSamplesCount)
            memcpy(&utilization[found], &sample, sizeof sample);
        found++;
    }
    if (folder)
        closedir(folder);
    bool has_room = utilization && found <= *processSamplesCount;
    *processSamplesCount = found;
    if (!found)
        return NVML_ERROR_NOT_FOUND;
    return has_room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}
