/* `aitherion-runtime pause`: the process of a pause container. */
#pragma once

/* Waits for SIGTERM or SIGINT, reaping what dies meanwhile (in its container it is process 1).
 * Returns the exit code. */
int ath_pause(void);
