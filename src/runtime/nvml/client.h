/*
 * NVML's client: what the functions stand on that libnvidia-ml.so.1 exports.
 *
 * One session with the server (a control session), one question at a time, whatever thread asks.
 * The session is opened by the first nvmlInit() and again where the server ended it (it ends
 * sessions that are silent) or the program forked: device handles are the same in each session of
 * a server. What the server said of static facts is kept until nvmlShutdown(). A handle that NVML
 * gave out is the server's number for it, in the clothes of a pointer.
 *
 * Threads: all of it may be called by any thread.
 */
#pragma once
#include "proto/nvml-functions.h"
#include "runtime/nvml/nvml_types.h"

/* Asks the server, or answers from what it said before. arguments are the function's. */
nvmlReturn_t ath_nvml_ask(enum ath_nvml_function function, union ath_nvml_argument *arguments);

/* What a function says that does not travel; with AITHERION_CUDA_LOG set it says why, once. */
nvmlReturn_t ath_nvml_refuse(enum ath_nvml_function function);
