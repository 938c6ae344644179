/* Shows the page of metrics, and the table that describes them. */
#pragma once
#include "cli/output/output.h"

struct ath_metrics_page {
    char *text;
};

extern const struct ath_view ath_metrics_page_view;  /* of a struct ath_metrics_page */
extern const struct ath_view ath_metrics_table_view; /* needs no data */
