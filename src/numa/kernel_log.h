/* Xids of GPUs from the kernel's log. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/* The log in a captured root: the text of `dmesg`, at its top. */
#define ATH_KERNEL_LOG_FILE "dmesg.txt"

/*
 * Counts the Xids of NVIDIA's GPUs, those of the last seven days: NVML tells what older ones left
 * behind. The kernel's log is a ring, so the oldest may be lost. If the log cannot be read, as by
 * users whom kernel.dmesg_restrict keeps out, the counts stay unknown.
 */
void ath_kernel_log_read(const struct ath_root *root, struct ath_machine *machine);
