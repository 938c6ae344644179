/* The screen of access: encryption of connections, and limits of clients. */
#include "config.h"

#include "base/i18n.h"
#include "cli/tui/screens.h"

static const struct ath_menu_row access_rows[] = {
    { .label = N_("Encryption of TCP"), .fields = { "encrypt" } },
    { .label = N_("Sessions from one source"), .fields = { "limits.sessions_per_source" } },
    { .label = N_("Host memory of one session"), .fields = { "limits.host_fraction" } },
    { .label = N_("Save and return"),
      .help = N_("write the document; nothing is written before"),
      .act = ath_screens_save_and_return },
    { .label = NULL },
};

const struct ath_menu ath_menu_access = {
    .title = N_("Access and encryption"),
    .list = "",
    .rows = access_rows,
};
