/* The memory and time of the GPUs that a program asks for in its first question, as the environment
 * says (open.h). */
#pragma once
#include "base/err.h"
#include "proto/control.h"

/* Returns 0, or -EINVAL "usage" with err. */
int ath_wishes_put(struct ath_control_open_channel_builder to, struct ath_err *err);
