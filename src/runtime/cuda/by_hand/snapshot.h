/* A device's facts in one round trip, to the cache, unless they are there. Any thread. */
#pragma once

/* After cuInit() succeeded, of a device by the server's number. Failing makes no difference but
 * that facts are asked for one by one. */
void ath_cuda_snapshot(int device);
