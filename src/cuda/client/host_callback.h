/* Functions of the program that the driver calls. Any thread. */
#pragma once
#include <stdbool.h>

/* Whether such a function may run now or later without another call. */
bool ath_cuda_callbacks_due(void);
