/* A test of the network as text, as JSON and as a progress bar. */
#include "config.h"

#include "cli/output/net_test.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/table.h"
#include "cli/output/words.h"

/* ---- facts ---- */

static const char *const roles[] = { "calls", "data", NULL };
static const char *const carriers[] = { "tcp", "udp", NULL };
static const char *const transports[] = { "tcp", "udp", NULL };

static const char *left_out_word(const struct ath_net_path *path)
{
    return path->left_out == -ENOKEY ? "the session is not encrypted" : strerror(-path->left_out);
}

/* The slower one of both directions; negative if one was not measured. */
static double speed_of(const struct ath_net_path *path)
{
    const double to = path->to_server.bytes_per_s, from = path->from_server.bytes_per_s;
    if (!path->to_server.is_known || !path->from_server.is_known)
        return -1;
    return to < from ? to : from;
}

/* The slowest one of several paths of large copies; NULL: there are not several that are known. */
static const struct ath_net_path *slowest(const struct ath_net_test *test)
{
    const struct ath_net_path *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < test->count; i++) {
        const struct ath_net_path *path = &test->paths[i];
        if (path->is_calls || speed_of(path) < 0)
            continue;
        count++;
        if (!found || speed_of(path) < speed_of(found))
            found = path;
    }
    return count > 1 ? found : NULL;
}

/* ---- JSON ---- */

static json_t *make_role(const void *object)
{
    return json_string(roles[!((const struct ath_net_path *)object)->is_calls]);
}

static json_t *make_carrier(const void *object)
{
    return json_string(carriers[((const struct ath_net_path *)object)->is_udp]);
}

static json_t *make_left_out(const void *object)
{
    const struct ath_net_path *path = object;
    return path->left_out ? json_string(left_out_word(path)) : json_null();
}

static json_t *make_transport(const void *object)
{
    return json_string(transports[((const struct ath_net_test_report *)object)->wants_udp]);
}

static json_t *make_slowest(const void *object)
{
    const struct ath_net_path *path = slowest(&((const struct ath_net_test_report *)object)->test);
    return path ? json_integer((json_int_t)path->number) : json_null();
}

static json_t *make_time(const void *object)
{
    const struct ath_net_test_report *report = object;
    return report->bytes ? json_null() : json_real(report->time_seconds);
}

static json_t *make_bytes(const void *object)
{
    const struct ath_net_test_report *report = object;
    return report->bytes ? json_integer((json_int_t)report->bytes) : json_null();
}

static const void *find_together(const void *object)
{
    const struct ath_net_test_report *report = object;
    return report->test.together.connections ? report : NULL;
}

#define AT(member) ATH_AT(struct ath_net_trips, member)
static const struct ath_field trips_fields[] = {
    ATH_FIELD("count", AT(count), .rules = ATH_AT_LEAST_1),
    ATH_FIELD("bytes", AT(bytes), .help = "size of each message", .rules = ATH_AT_LEAST_1),
    ATH_FIELD("min_ns", AT(least_ns), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("median_ns", AT(median_ns), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("p99_ns", AT(p99_ns), .help = "99 of 100 round trips took no longer",
              .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_net_speed, member)
static const struct ath_field speed_fields[] = {
    ATH_FIELD("bytes_per_s", AT(bytes_per_s), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("bytes", AT(bytes),
              .help = "that the speed was measured by, as the receiver saw them",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("time_ns", AT(time_ns), .help = "of these bytes", .rules = ATH_AT_LEAST_0),
    ATH_FIELD("sent_again", AT(sent_again),
              .help = "TCP segments or datagrams that the sender sent more than once; null if a "
                      "connection was lost",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

/* The row of a speed in a struct that has it. */
#define SPEED(name, type, member)                                                                  \
    ATH_FIELD(name, ATH_AT(type, member), .help = "null if it was not measured",                   \
              .known = ATH_KNOWN(type, member.is_known), .fields = speed_fields)

#define AT(member) ATH_AT(struct ath_net_path, member)
static const struct ath_field path_fields[] = {
    ATH_FIELD("number", AT(number), .rules = ATH_AT_LEAST_1),
    ATH_FIELD("role", ATH_OF(ATH_FIELD_TEXT),
              .help = "calls: the path of CUDA's calls and of small copies; data: of large copies",
              .words = roles, .make = make_role),
    ATH_FIELD("transport", ATH_OF(ATH_FIELD_TEXT), .words = carriers, .make = make_carrier),
    ATH_FIELD("from", AT(from), .help = "address of this host; null if no link leads there",
              .is_nullable = true),
    ATH_FIELD("to", AT(to), .help = "address and port of the runtime"),
    ATH_FIELD("link", AT(link), .help = "link of this host; null: the one that the kernel chooses",
              .is_nullable = true),
    ATH_FIELD("connections", AT(connections), .help = "0 for a path that is left out",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("left_out", ATH_OF(ATH_FIELD_TEXT),
              .help = "why the path is not used; null: it is used", .is_nullable = true,
              .make = make_left_out),
    ATH_FIELD("round_trip", AT(trips), .help = "of one connection; null if it was not measured",
              .known = ATH_KNOWN(struct ath_net_path, trips.is_known), .fields = trips_fields),
    SPEED("to_server", struct ath_net_path, to_server),
    SPEED("from_server", struct ath_net_path, from_server),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_net_together, member)
static const struct ath_field together_fields[] = {
    ATH_FIELD("connections", AT(connections),
              .help = "with that of the calls if there are no data addresses",
              .rules = ATH_AT_LEAST_1),
    SPEED("to_server", struct ath_net_together, to_server),
    SPEED("from_server", struct ath_net_together, from_server),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_net_test_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("server", AT(server)),
    ATH_FIELD("is_dry_run", AT(is_dry_run),
              .help = "the paths were found, and nothing was measured"),
    ATH_FIELD("transport", ATH_OF(ATH_FIELD_TEXT),
              .help = "that was wanted for large copies; that of each path says what is used",
              .words = transports, .make = make_transport),
    ATH_FIELD("why_tcp", AT(test.why_tcp),
              .help = "why UDP was wanted and is not used; null: it is, or was not wanted",
              .is_nullable = true),
    ATH_FIELD("is_encrypted", AT(test.is_encrypted)),
    ATH_FIELD("has_data_addresses", AT(test.has_data_addresses),
              .help = "large copies go to the runtime's data addresses; false: to the address of "
                      "the calls"),
    ATH_FIELD("session", AT(test.session), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("time_seconds", ATH_OF(ATH_FIELD_DOUBLE),
              .help = "for each speed, about; null with --bytes", .is_nullable = true,
              .make = make_time),
    ATH_FIELD("bytes", ATH_OF(ATH_FIELD_SIZE), .help = "for each speed; null without --bytes",
              .is_nullable = true, .rules = ATH_AT_LEAST_1, .make = make_bytes),
    ATH_FIELD("paths", ATH_AT_LIST(struct ath_net_test_report, test.paths, test.count),
              .help = "each measured alone; that of the calls first, those that are left out last",
              .fields = path_fields),
    ATH_FIELD("together", AT(test.together),
              .help = "all paths of large copies at once, as copies of programs go; null if there "
                      "are none",
              .is_nullable = true, .fields = together_fields, .find = find_together),
    ATH_FIELD("slowest", ATH_OF(ATH_FIELD_SIZE),
              .help = "number of the slowest path of large copies, by its slower direction; null "
                      "if there are not several",
              .is_nullable = true, .rules = ATH_AT_LEAST_1, .make = make_slowest),
    { .name = NULL },
};
#undef AT

/* ---- text ---- */

static char *speed_words(const struct ath_net_speed *speed)
{
    const double bits = speed->bytes_per_s * 8;
    return !speed->is_known ? ath_xstrdup("?")
           : bits >= 1e9    ? ath_xasprintf("%.2f Gb/s", bits / 1e9)
           : bits >= 1e6    ? ath_xasprintf("%.1f Mb/s", bits / 1e6)
                            : ath_xasprintf("%.1f kb/s", bits / 1e3);
}

static char *trips_words(const struct ath_net_trips *trips)
{
    const double ms = 1e6;
    const int digits = (double)trips->p99_ns < 10 * ms ? 3 : 1;
    return trips->is_known
               ? ath_xasprintf("%.*f / %.*f / %.*f ms", digits, (double)trips->least_ns / ms,
                               digits, (double)trips->median_ns / ms, digits,
                               (double)trips->p99_ns / ms)
               : ath_xstrdup("?");
}

static char *sent_again_words(const struct ath_net_speed *to, const struct ath_net_speed *from)
{
    ATH_AUTO(ath_text) text = { 0 };
    const struct ath_net_speed *both[] = { to, from };
    for (size_t i = 0; i < ATH_COUNT(both); i++) {
        if (both[i]->sent_again < 0 || !both[i]->is_known)
            ath_text_add_part(&text, " / ", "-");
        else
            ath_text_add_part(&text, " / ", "%" PRId64, both[i]->sent_again);
    }
    return ath_text_take(&text);
}

enum { NUMBER, ROLE, VIA, FROM, TO, CONNECTIONS, TRIPS, TO_SERVER, FROM_SERVER, AGAIN, COLUMNS };

static void add_path(const struct ath_net_path *path, struct ath_table *table)
{
    struct ath_table_cell *row = ath_table_add_row(table);
    row[NUMBER].text = ath_xasprintf("%zu", path->number);
    row[ROLE].text = ath_xstrdup(path->is_calls ? _("calls") : _("data"));
    row[VIA].text = ath_xstrdup(carriers[path->is_udp]);
    row[FROM].text =
        *path->link ? ath_xasprintf("%s (%s)", path->from, path->link) : ath_xstrdup(path->from);
    row[TO].text = ath_xstrdup(path->to);
    if (path->left_out) {
        row[TRIPS].text = ath_xstrdup(_("left out"));
        row[TRIPS].role = ATH_ROLE_WARN;
        return;
    }
    row[CONNECTIONS].text = ath_xasprintf("%zu", path->connections);
    row[TRIPS].text = trips_words(&path->trips);
    row[TO_SERVER].text = speed_words(&path->to_server);
    row[FROM_SERVER].text = speed_words(&path->from_server);
    row[AGAIN].text = sent_again_words(&path->to_server, &path->from_server);
}

static void add_together(const struct ath_net_test *test, struct ath_table *table)
{
    struct ath_table_cell *row = ath_table_add_row(table);
    row[NUMBER].text = ath_xstrdup(_("all"));
    row[ROLE].text = ath_xstrdup(_("data"));
    row[CONNECTIONS].text = ath_xasprintf("%zu", test->together.connections);
    row[TO_SERVER].text = speed_words(&test->together.to_server);
    row[FROM_SERVER].text = speed_words(&test->together.from_server);
    row[AGAIN].text = sent_again_words(&test->together.to_server, &test->together.from_server);
}

static void print_table(const struct ath_style *style, FILE *out, const struct ath_net_test *test)
{
    static const char *const titles[COLUMNS] = {
        N_("Path"),
        N_("For"),
        N_("Via"),
        N_("From"),
        N_("To"),
        N_("Connections"),
        N_("Round trip: min / median / p99"),
        N_("To server"),
        N_("From server"),
        N_("Sent again"),
    };
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = COLUMNS };
    for (size_t i = 0; i < test->count; i++)
        add_path(&test->paths[i], &table);
    if (test->together.connections)
        add_together(test, &table);
    if (style->columns && ath_table_width(&table, style) > (size_t)style->columns)
        ath_table_print_blocks(&table, style, out);
    else
        ath_table_print(&table, style, out);
}

/* Prints a sentence, which it frees. */
static void say(const struct ath_style *style, FILE *out, char *sentence)
{
    ath_auto_free char *text = sentence;
    ath_style_print(style, out, &(struct ath_paragraph){ .text = text });
}

static void say_paths(const struct ath_style *style, FILE *out, const struct ath_net_test *test)
{
    const struct ath_net_path *slow = slowest(test);
    size_t lost = 0;
    for (size_t i = 0; i < test->count; i++) {
        const struct ath_net_path *path = &test->paths[i];
        lost += path->left_out != 0;
        if (path->left_out)
            say(style, out,
                ath_xasprintf(_("path %zu to %s is left out: %s"), path->number, path->to,
                              left_out_word(path)));
    }
    if (!test->together.connections)
        say(style, out, ath_xstrdup(_("large copies use the connection of the calls alone")));
    else if (!test->has_data_addresses && lost)
        say(style, out,
            ath_xstrdup(_("no data address is of use: large copies go where the calls go")));
    else if (!test->has_data_addresses)
        say(style, out,
            ath_xstrdup(
                _("the runtime has no data addresses: large copies go where the calls go")));
    if (!slow)
        return;
    const struct ath_net_speed *to = &slow->to_server, *from = &slow->from_server;
    const bool is_to = to->bytes_per_s < from->bytes_per_s;
    ath_auto_free char *speed = speed_words(is_to ? to : from);
    say(style, out,
        ath_xasprintf(is_to ? _("path %zu is the slowest one of large copies: %s to the runtime")
                            : _("path %zu is the slowest one of large copies: %s from the runtime"),
                      slow->number, speed));
}

/* Compares all together with the sum of the paths. */
static void say_together(const struct ath_style *style, FILE *out, const struct ath_net_test *test)
{
    double to = 0, from = 0;
    for (size_t i = 0; i < test->count; i++) {
        if (test->paths[i].is_calls)
            continue;
        to += test->paths[i].to_server.bytes_per_s;
        from += test->paths[i].from_server.bytes_per_s;
    }
    if (to <= 0 || from <= 0 || !test->together.to_server.is_known ||
        !test->together.from_server.is_known)
        return;
    say(style, out,
        ath_xasprintf(_("all together carry %.0f %% of what the paths carry alone to the runtime, "
                        "and %.0f %% from it"),
                      100 * test->together.to_server.bytes_per_s / to,
                      100 * test->together.from_server.bytes_per_s / from));
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_net_test_report *report = data;
    const struct ath_net_test *test = &report->test;
    fprintf(out,
            test->is_encrypted ? _("runtime %s, session %" PRIu64 ", encrypted\n\n")
                               : _("runtime %s, session %" PRIu64 ", not encrypted\n\n"),
            report->server, test->session);
    print_table(style, out, test);
    putc('\n', out);
    if (*test->why_tcp)
        say(style, out, ath_xasprintf(_("large copies go by TCP: %s"), test->why_tcp));
    say_paths(style, out, test);
    say_together(style, out, test);
    if (report->is_dry_run)
        say(style, out, ath_xstrdup(_("nothing was measured (--dry-run)")));
}

const struct ath_view ath_net_test_view = {
    .schema = "aitherion.net-test/1",
    .title = "Output of `aitherion net test --json`",
    .about = "The paths between this host and a runtime, each measured alone, and all paths of "
             "large copies together, as copies of programs go.",
    .fields = fields,
    .to_text = to_text,
};

/* ---- the bar ---- */

void ath_net_test_bar_show(void *context, const struct ath_net_step *step)
{
    ath_auto_free char *note =
        step->path ? ath_xasprintf(_("path %zu to %s"), step->path->number, step->path->to)
                   : ath_xstrdup(_("all together"));
    ath_bar_show(
        context,
        &(struct ath_bar_step){ .phase = _("measuring"),
                                .fraction = (double)(step->number - 1) / (double)step->count,
                                .note = note },
        _("measuring the paths to the runtime"));
}
