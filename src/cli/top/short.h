/* Numbers as short as a column of a screen needs them. Unknown numbers are "?". The caller frees
 * the results. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Memory in powers of 1024: "15.8G", "512M", "0". */
char *ath_short_size(int64_t bytes);

/* A rate of bytes or calls in powers of 1000: "1.2G", "340k", "0". */
char *ath_short_rate(int64_t per_s);

/* "63%". */
char *ath_short_percent(int64_t percent);

/* A time that was worked: "0.3s", "12:34", "3:25:45", "12d 3h". */
char *ath_short_time(int64_t us);

/* A time that passed, in its largest unit: "8s", "12m", "3h", "2d". */
char *ath_short_age(int64_t ms);

/* A wait: "85us", "1.2ms", "3.4s". */
char *ath_short_wait(int64_t us);

/* Power in watts of milliwatts: "212W". */
char *ath_short_power(int64_t mw);

/* Returns a text with its middle left out, if it is wider than so many columns: addresses differ at
 * both ends. */
char *ath_short_middle(const char *text, int columns, bool is_utf8);
