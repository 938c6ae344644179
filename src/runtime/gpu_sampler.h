/*
 * The sampler: a process that asks NVML about the server's devices and writes the answers to the
 * board (samples.h). A process that has used NVML may hang in it at any time, so neither the
 * listening process nor a session asks. sampler.h replaces one that hangs or ends.
 *
 * It samples once a second while a program has a session or a client asks for figures, and rarely
 * otherwise.
 */
#pragma once
#include "runtime/server.h"

/* Exit codes. */
enum {
    ATH_SAMPLER_NO_LIBRARY = 3, /* another sampler would find none either */
    ATH_SAMPLER_NO_DRIVER = 4,
};

/* Samples until the process is killed, or exits. The board is confined to its samples. */
void ath_gpu_sampler_run(const struct ath_server *server) __attribute__((noreturn));
