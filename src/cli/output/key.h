/* Showing the shared key: where it is and what it is known by, never what it is, unless asked. */
#pragma once
#include <stdbool.h>

#include "cli/output/output.h"

enum ath_key_action { ATH_KEY_SHOW, ATH_KEY_NEW, ATH_KEY_EXPORT, ATH_KEY_IMPORT };

/* Owns nothing. */
struct ath_key_report {
    enum ath_key_action action;
    bool is_dry_run, is_there, is_readable;
    const char *path;
    const char *fingerprint; /* SHA-256 of the file; NULL where there is none */
    int mode;                /* of the file; ATH_UNKNOWN */
    const char *base64;      /* of an export; else NULL */
    const char *next;        /* a command; NULL */
};

extern const struct ath_view ath_key_view; /* of a struct ath_key_report */
