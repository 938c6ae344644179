/* The driver's linkers. A linker writes logs and times whenever it is used, so its options live
 * here as long as the linker. */
#pragma once
#include "cuda/server/server.h"

/* Frees the options of a session's linkers. The linkers themselves end with the process. */
void ath_cuda_linkers_free(struct ath_cuda_session *session);
