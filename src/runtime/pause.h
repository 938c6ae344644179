/* `aitherion-runtime pause`: the process of a pause container. */
#pragma once

/* Waits for SIGTERM or SIGINT and reaps children meanwhile (in its container this is process 1).
 * Returns the exit code. */
int ath_pause(void);
