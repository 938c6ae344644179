/* The words of `aitherion run -v` about the paths of a session: which carries what, and its
 * cost. */
#pragma once
#include "cuda/client/client.h"
#include "remote/session/session.h"

/* Says the plan of a session whose further connections are made: the path of the calls and of
 * copies, and why the others are not used. */
void ath_path_say_plan(const struct ath_session *session);

/* Says how fast the large copies to the server were, and what each further connection has carried,
 * if there were any. */
void ath_path_say_cost(const struct ath_cuda_link *link);
