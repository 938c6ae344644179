/* Names of processes that another program looks for in /proc/PID/comm, at most 15 bytes. */
#pragma once

/* The processes of a server that ask NVML (runtime/gpu_sampler.h), give turns on the GPUs
 * (runtime/arbiter.h) and serve UDP (runtime/datagrams.h): the only children of a server that are
 * no sessions. */
#define ATH_SAMPLER_NAME "aitherion-gpus"
#define ATH_ARBITER_NAME "aitherion-turns"
#define ATH_DATAGRAMS_NAME "aitherion-udp"
