/* The page of metrics of several runtimes, which are asked at once over control sessions. */
#pragma once
#include "base/text.h"
#include "cli/page_host.h"
#include "cli/reach.h"
#include "watch/page.h"

/*
 * Asks the runtimes that the options name, by default all on this machine, and writes their page
 * with the facts of this machine, which are read again. A runtime that cannot be reached, or has
 * not answered within four seconds, has aitherion_up 0 and nothing else; with `warns` a line on
 * standard error says why, or that there is no runtime. Returns 0, or a negative errno with err if
 * the runtimes cannot be listed.
 */
int ath_host_metrics_write(struct ath_cli *cli, const struct ath_reach_options *options,
                           struct ath_page_host *host, bool warns, enum ath_metrics_format format,
                           struct ath_text *out, struct ath_err *err);
