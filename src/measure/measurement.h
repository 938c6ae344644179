/*
 * Figures of copies between the GPUs of this machine, measured with CUDA's driver library.
 *
 * The library is loaded in a child process, with a time limit: a driver that hangs or crashes does
 * not take the program with it. No setting of a GPU is changed. Memory and contexts of the
 * measurement end with the child.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pci.h"
#include "numa/machine.h"

enum { ATH_MEASURED_GPUS_MAX = 64 };

struct ath_measured_gpu {
    struct ath_pci pci;
    char uuid[64];                                    /* "GPU-..."; "" if it is not known */
    int64_t to_gpu_bytes_per_s, from_gpu_bytes_per_s; /* with pinned memory of the host; ATH_UNKNOWN
                                                         if not measured */
    char error[160];                                  /* why the GPU could not be measured, or "" */
};

/* Copies from one GPU to another. */
struct ath_measured_copies {
    int64_t bytes_per_s, latency_ns; /* ATH_UNKNOWN if not measured */
    bool is_direct;                  /* one GPU reaches the other's memory (peer access) */
    char error[160];                 /* why they could not be measured, or "" */
};

struct ath_measurement {
    char date[32];           /* "2026-11-27T04:10:00Z" */
    char driver_version[64]; /* of the kernel's driver; "" if it is not known */
    int cuda_version;        /* 12080 */
    int gpu_count;
    struct ath_measured_gpu gpus[ATH_MEASURED_GPUS_MAX];
    struct ath_measured_copies copies[ATH_MEASURED_GPUS_MAX][ATH_MEASURED_GPUS_MAX]; /* from, to */
};

/*
 * Measures all GPUs of the machine that CUDA shows to this process; CUDA_VISIBLE_DEVICES chooses
 * among them. Takes seconds. Only for programs with one thread: it forks without exec.
 *
 * timeout_ms  0: a limit by the number of GPUs
 * out         the caller frees it with free()
 * Returns 0, also if some figures could not be measured; or a negative errno with err: no GPU
 * (-ENODEV), "library-missing" (-ENOENT), "driver-failed" (-ETIMEDOUT: it hung; -EFAULT: it
 * crashed; -EIO: it refused).
 */
int ath_measure(const struct ath_machine *machine, int timeout_ms, struct ath_measurement **out,
                struct ath_err *err);
