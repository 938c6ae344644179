/* The paths of sessions: fields for JSON, and the table of `aitherion session list -v`. */
#include "config.h"

#include "cli/output/session_paths.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/session_words.h"
#include "cli/output/table.h"
#include "cli/output/words.h"

static const char *const reasons[] = { "not-near", "not-asked", "not-served", "not-needed", NULL };

/* Returns NULL for a path in use, and for a reason that this version does not know. */
static const char *reason_word(int reason)
{
    return reason > ATH_GPU_PATH_REASON_USED && reason <= ATH_GPU_PATH_REASON_NOT_NEEDED
               ? reasons[reason - ATH_GPU_PATH_REASON_NOT_NEAR]
               : NULL;
}

#define AT(member) ATH_AT(struct ath_runtime_path, member)
const struct ath_field ath_session_path_fields[] = {
    ATH_FIELD("transport", AT(transport), .help = "local, shm, udp or tcp", .is_nullable = true),
    ATH_FIELD("reason", AT(reason),
              .help = "why it is not used: the program reaches the runtime by an address, did not "
                      "choose it, the runtime does not take it, or it is not needed; null if it "
                      "is used",
              .word = reason_word, .words = reasons, .is_nullable = true),
    ATH_FIELD("connections", AT(connections), .help = "0 if it is not used",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("least_bytes", AT(least_bytes), .help = "of copies that go by it; 0: also calls",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("latency_ns", AT(latency_ns),
              .help = "a round trip, as the runtime's kernel measures it; null if it is unknown",
              .is_nullable = true),
    ATH_FIELD("bytes_per_s", AT(bytes_per_s),
              .help = "speed of the latest copies of 1 MiB and more that the runtime sent; null if "
                      "there were none",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

static const char *reason_text(int reason)
{
    static const char *const texts[] = {
        [ATH_GPU_PATH_REASON_NOT_NEAR] =
            N_("not used: the program reaches the runtime by an address"),
        [ATH_GPU_PATH_REASON_NOT_ASKED] = N_("not used: the program did not choose it"),
        [ATH_GPU_PATH_REASON_NOT_SERVED] = N_("not used: the runtime does not take it"),
        [ATH_GPU_PATH_REASON_NOT_NEEDED] = N_("not used: another path is faster"),
    };
    return reason_word(reason) ? _(texts[reason]) : _("not used");
}

static bool has_copies(const struct ath_runtime_session *session)
{
    for (size_t i = 0; i < session->path_count; i++)
        if (session->paths[i].least_bytes)
            return true;
    return false;
}

/* Returns the load of a path in use. */
static char *load_words(const struct ath_runtime_session *session,
                        const struct ath_runtime_path *path)
{
    if (path->least_bytes) {
        ath_auto_free char *size = ath_words_size((int64_t)path->least_bytes);
        return ath_xasprintf(ngettext("copies from %s, %u connection",
                                      "copies from %s, %u connections", path->connections),
                             size, path->connections);
    }
    return ath_xstrdup(has_copies(session) ? _("calls and small copies") : _("calls and copies"));
}

static void add_paths(const struct ath_session_group *group,
                      const struct ath_runtime_session *session, struct ath_table *table)
{
    for (size_t i = 0; i < session->path_count; i++) {
        const struct ath_runtime_path *path = &session->paths[i];
        struct ath_table_cell *row = ath_table_add_row(table);
        row[0].text = ath_session_group_name(group);
        row[1].text = ath_xasprintf("%" PRIu64, session->id);
        row[2].text = ath_xstrdup(path->transport ? path->transport : "-");
        row[3].text = path->connections ? load_words(session, path)
                                        : ath_xstrdup(reason_text((int)path->reason));
        row[4].text =
            path->latency_ns == ATH_UNKNOWN ? ath_xstrdup("-") : ath_words_time(path->latency_ns);
        row[5].text = path->bytes_per_s == ATH_UNKNOWN ? ath_xstrdup("-")
                                                       : ath_words_bandwidth(path->bytes_per_s);
    }
}

void ath_session_paths_print(const struct ath_style *style, FILE *out,
                             const struct ath_session_report *report)
{
    static const char *const titles[] = { N_("Runtime"), N_("Session"), N_("Path"),
                                          N_("Carries"), N_("Latency"), N_("Sends") };
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = ATH_COUNT(titles) };

    for (size_t i = 0; i < report->count; i++)
        for (size_t j = 0; j < report->items[i].sessions.count; j++)
            add_paths(&report->items[i], &report->items[i].sessions.items[j], &table);
    if (table.row_count)
        ath_table_print(&table, style, out);
}
