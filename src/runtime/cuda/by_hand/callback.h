/* Functions of the program's that the driver calls. Any thread. */
#pragma once
#include <stdbool.h>

/* Whether some may run now or later, without another call. */
bool ath_cuda_callbacks_due(void);
