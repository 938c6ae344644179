/* Names of processes that another program looks for in /proc/PID/comm, at most 15 bytes. */
#pragma once

/* The process of a server that asks NVML (runtime/gpu_sampler.h): the only child of a server that
 * is no session. */
#define ATH_SAMPLER_NAME "aitherion-gpus"
