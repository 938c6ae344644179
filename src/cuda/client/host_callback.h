/* Host functions: functions of the program that the driver calls in a stream's order. Any
 * thread. */
#pragma once
#include <stdbool.h>

/* Returns whether a host function may run now or later without another call of the program. */
bool ath_cuda_callbacks_due(void);
