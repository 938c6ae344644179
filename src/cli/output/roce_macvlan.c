/* A macvlan as text and as JSON: changes, steps, and its state afterwards. */
#include "config.h"

#include "cli/output/roce_macvlan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/output/fields.h"
#include "cli/output/json.h"
#include "cli/output/words.h"
#include "roce/netns.h"

void ath_roce_macvlan_report_free(struct ath_roce_macvlan_report *report)
{
    if (!report)
        return;
    ath_change_report_free(&report->changes);
    ath_macvlan_plan_free(&report->plan);
    free(report->link.netns);
    free(report->link.parent);
    free(report->link.not_ready);
    ath_link_free(&report->link.link);
    ath_link_free(&report->link.companion);
    free(report->next);
    *report = (struct ath_roce_macvlan_report){ 0 };
}

static bool has_link(const struct ath_roce_macvlan_link *link)
{
    return link->link.name[0] != '\0';
}

/* ---- data ---- */

static const char *const scopes[] = { [ATH_ROCE_MACVLAN_BOTH] = "document-and-kernel",
                                      [ATH_ROCE_MACVLAN_RECORD] = "document",
                                      [ATH_ROCE_MACVLAN_CAPTURE] = "document-of-capture",
                                      NULL };

static const char *const actions[] = { [ATH_STEP_MAKE_NETNS] = "make-namespace",
                                       [ATH_STEP_DELETE_NETNS] = "delete-namespace",
                                       [ATH_STEP_CREATE] = "create",
                                       [ATH_STEP_DELETE] = "delete",
                                       [ATH_STEP_ALIAS] = "label",
                                       [ATH_STEP_MODE] = "set-mode",
                                       [ATH_STEP_MTU] = "set-mtu",
                                       [ATH_STEP_MOVE] = "move",
                                       [ATH_STEP_ADD_ADDRESS] = "add-address",
                                       [ATH_STEP_REMOVE_ADDRESS] = "remove-address",
                                       [ATH_STEP_ADD_ROUTE] = "add-route",
                                       [ATH_STEP_REMOVE_ROUTE] = "remove-route",
                                       [ATH_STEP_UP] = "bring-up",
                                       NULL };

static const char *scope_word(int scope)
{
    return scopes[scope];
}

static const char *action_word(int action)
{
    return actions[action];
}

static const char *mode_word(int mode)
{
    return mode == ATH_UNKNOWN ? NULL : ath_macvlan_mode_word(mode);
}

ATH_FIELD_WORD(state_word, enum ath_macvlan_state, ath_macvlan_state_word)
ATH_FIELD_WORD(link_word, enum ath_link_state, ath_link_state_word)
ATH_FIELD_WORD(type_word, enum ath_gid_type, ath_gid_type_word)

/* The name of a namespace for its path; other paths unchanged; NULL for the host's namespace. */
static const char *name_of_netns(const char *place)
{
    static const char folder[] = ATH_NETNS_FOLDER "/";
    return place && ath_starts_with(place, folder) ? place + strlen(folder) : place;
}

static json_t *make_namespace(const void *object)
{
    const struct ath_macvlan_step *step = object;
    return ath_json_text(step->netns ? step->netns : name_of_netns(step->place));
}

#define AT(member) ATH_AT(struct ath_macvlan_step, member)
static const struct ath_field step_fields[] = {
    ATH_FIELD("action", AT(action), .word = action_word, .words = actions),
    ATH_FIELD("link", AT(link), .help = "name of the link; null for steps about namespaces",
              .is_nullable = true),
    ATH_FIELD("namespace", ATH_OF(ATH_FIELD_TEXT),
              .help = "name or path of the namespace; null for the host's namespace",
              .is_nullable = true, .make = make_namespace),
    ATH_FIELD("text", AT(text)),
    { .name = NULL },
};
#undef AT

static json_t *make_addresses(const void *object)
{
    const struct ath_link *link = object;
    json_t *list = json_array();
    for (size_t i = 0; i < link->address_count; i++) {
        ath_auto_free char *text = ath_address_format(&link->addresses[i]);
        if (!link->addresses[i].is_link_local)
            json_array_append_new(list, ath_json_text(text));
    }
    return list;
}

#define AT(member) ATH_AT(struct ath_link, member)
static const struct ath_field link_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("mode", AT(macvlan_mode), .is_nullable = true, .word = mode_word,
              .word_count = ATH_MACVLAN_PASSTHRU + 1),
    ATH_FIELD("mtu_bytes", AT(mtu), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("mac", AT(mac), .is_nullable = true),
    ATH_FIELD("link", AT(state), .is_nullable = true, .word = link_word,
              .word_count = ATH_LINK_UP + 1),
    ATH_FIELD("addresses", ATH_LIST_OF(ATH_FIELD_TEXT),
              .help = "addresses with prefix lengths, except link-local addresses",
              .make = make_addresses),
    { .name = NULL },
};
#undef AT

static const void *find_gid(const void *object)
{
    const struct ath_roce_macvlan_link *link = object;
    return link->gid_state == ATH_LINK_GID_NO_DEVICE ? NULL : link;
}

static const void *find_made_gid(const void *object)
{
    const struct ath_roce_macvlan_link *link = object;
    return link->gid_state == ATH_LINK_GID_FOUND ? link : NULL;
}

#define AT(member) ATH_AT(struct ath_roce_macvlan_link, member)
static const struct ath_field gid_fields[] = {
    ATH_FIELD("device", AT(gid.device)),
    ATH_FIELD("port", AT(gid.port), .rules = ATH_AT_LEAST_1),
    ATH_FIELD("index", AT(gid.gid.index),
              .help = "index of the GID; null if there is no such GID yet", .is_nullable = true,
              .rules = ATH_AT_LEAST_0, .find = find_made_gid),
    ATH_FIELD("type", AT(gid.gid.type), .is_nullable = true, .word = type_word,
              .word_count = ATH_GID_ROCE_V2 + 1, .find = find_made_gid),
    ATH_FIELD("gid", AT(gid.gid.address), .help = "GID as the kernel prints it",
              .is_nullable = true, .find = find_made_gid),
    { .name = NULL },
};
#undef AT

static const void *find_link(const void *object)
{
    const struct ath_roce_macvlan_link *link = object;
    return has_link(link) ? link : NULL;
}

static const void *find_companion(const void *object)
{
    const struct ath_roce_macvlan_link *link = object;
    return link->companion.name[0] ? link : NULL;
}

static json_t *make_is_ready(const void *object)
{
    const struct ath_roce_macvlan_link *link = object;
    return json_boolean(has_link(link) && !link->not_ready);
}

#define AT(member) ATH_AT(struct ath_roce_macvlan_link, member)
static const struct ath_field macvlan_fields[] = {
    ATH_FIELD("state", AT(state),
              .help = "moved: the macvlan is in a container; gone: its namespace exists, but the "
                      "macvlan does not",
              .word = state_word, .word_count = ATH_MACVLAN_GONE + 1),
    ATH_FIELD("namespace", AT(netns), .help = "name or path of the link's namespace",
              .is_nullable = true),
    ATH_FIELD("parent", AT(parent), .is_nullable = true),
    ATH_FIELD("link", AT(link), .help = "the link; null if it does not exist", .is_nullable = true,
              .fields = link_fields, .find = find_link),
    ATH_FIELD("host_link", AT(companion),
              .help = "link on the host through which the host reaches the macvlan; null if there "
                      "is none",
              .is_nullable = true, .fields = link_fields, .find = find_companion),
    ATH_FIELD("gid", ATH_OF(ATH_FIELD_OBJECT),
              .help = "GID of the macvlan's address; null if the parent has no RDMA device",
              .is_nullable = true, .fields = gid_fields, .find = find_gid),
    ATH_FIELD("is_ready", ATH_OF(ATH_FIELD_BOOL),
              .help = "whether connections can be made over the macvlan", .make = make_is_ready),
    ATH_FIELD("not_ready", AT(not_ready),
              .help = "why connections cannot be made yet; null if they can", .is_nullable = true),
    { .name = NULL },
};
#undef AT

static const void *find_macvlan(const void *object)
{
    const struct ath_roce_macvlan_report *report = object;
    bool is_deleted = report->is_delete && report->link.state == ATH_MACVLAN_RECORDED;
    return report->link.is_known && !is_deleted ? report : NULL;
}

#define AT(member) ATH_AT(struct ath_roce_macvlan_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("scope", AT(scope),
              .help =
                  "what was changed: only the document with --record and for a captured machine",
              .word = scope_word, .words = scopes),
    ATH_FIELD("is_delete", AT(is_delete)),
    ATH_FIELD("", ATH_AT_AS(ATH_FIELD_INNER, struct ath_roce_macvlan_report, changes),
              .fields = ath_change_fields),
    ATH_FIELD("steps", ATH_AT_LIST(struct ath_roce_macvlan_report, plan.steps, plan.count),
              .help = "changes in the kernel, in order; with --dry-run the planned changes",
              .fields = step_fields),
    ATH_FIELD("macvlan", AT(link),
              .help = "the macvlan in the kernel after the change; null if the kernel was not "
                      "asked, or if a deleted macvlan does not exist",
              .is_nullable = true, .fields = macvlan_fields, .find = find_macvlan),
    ATH_FIELD("next", AT(next), .help = "next step, for users", .is_nullable = true),
    { .name = NULL },
};
#undef AT

/* ---- text ---- */

static void put(const struct ath_style *style, FILE *out, const char *label, const char *text)
{
    ath_auto_free char *clean = ath_clean(text, style->is_utf8);
    size_t width = ath_text_width(label);
    fprintf(out, "  %s%s%s%*s%s\n", ath_style_on(style, ATH_ROLE_DIM), label,
            ath_style_off(style, ATH_ROLE_DIM), (int)(width < 10 ? 10 - width : 1), "", clean);
}

static char *addresses_of(const struct ath_link *link)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < link->address_count; i++) {
        ath_auto_free char *address = ath_address_format(&link->addresses[i]);
        if (!link->addresses[i].is_link_local)
            ath_text_add_part(&text, ", ", "%s", address);
    }
    if (!text.length)
        ath_text_add(&text, "%s", _("none"));
    return ath_text_take(&text);
}

const char *ath_roce_macvlan_state_text(enum ath_macvlan_state state)
{
    static const char *const texts[] = {
        [ATH_MACVLAN_RECORDED] = N_("not made"),
        [ATH_MACVLAN_MADE] = N_("made"),
        [ATH_MACVLAN_MOVED] = N_("moved into a container"),
        [ATH_MACVLAN_GONE] = N_("gone: removed together with its container or its parent"),
    };
    return _(texts[state]);
}

static char *gid_text(const struct ath_roce_macvlan_link *link)
{
    if (link->gid_state == ATH_LINK_GID_NO_DEVICE)
        return ath_xstrdup(_("none: the parent has no RDMA device"));
    if (link->gid_state == ATH_LINK_GID_MISSING)
        return ath_xasprintf(_("none yet on %s port %d"), link->gid.device, link->gid.port);
    ath_auto_free char *address = ath_words_gid(&link->gid.gid);
    return ath_xasprintf(_("%s port %d, index %d: %s, %s"), link->gid.device, link->gid.port,
                         link->gid.gid.index, address, ath_gid_type_word(link->gid.gid.type));
}

static void print_link(const struct ath_style *style, FILE *out,
                       const struct ath_roce_macvlan_report *report)
{
    const struct ath_roce_macvlan_link *link = &report->link;
    ath_auto_free char *name = ath_clean(report->name, style->is_utf8);

    fprintf(out, "%s%s%s: %s\n", ath_style_on(style, ATH_ROLE_NAME), name,
            ath_style_off(style, ATH_ROLE_NAME), ath_roce_macvlan_state_text(link->state));
    if (link->netns)
        put(style, out, _("namespace"), link->netns);
    if (!has_link(link))
        return;
    ath_auto_free char *what =
        ath_xasprintf(_("%s, mode %s, MTU %d"), link->parent ? link->parent : "?",
                      ath_macvlan_mode_word(link->link.macvlan_mode), link->link.mtu);
    ath_auto_free char *addresses = addresses_of(&link->link), *gid = gid_text(link);
    put(style, out, _("on"), what);
    put(style, out, _("address"), addresses);
    if (link->companion.name[0]) {
        ath_auto_free char *host = addresses_of(&link->companion);
        ath_auto_free char *text = ath_xasprintf(_("%s, address %s"), link->companion.name, host);
        put(style, out, _("host"), text);
    }
    put(style, out, "GID", gid);
    if (link->not_ready)
        put(style, out, _("not ready"), link->not_ready);
}

static void print_steps(const struct ath_style *style, FILE *out,
                        const struct ath_roce_macvlan_report *report)
{
    bool is_dry_run = report->changes.is_dry_run;

    if (!report->plan.count)
        fputs(report->is_delete ? _("nothing to do: the kernel has no such macvlan\n")
                                : _("nothing to do: the kernel's macvlan has these settings\n"),
              out);
    else
        fputs(is_dry_run ? _("would do:\n") : _("done:\n"), out);
    for (size_t i = 0; i < report->plan.count; i++) {
        ath_auto_free char *text = ath_clean(report->plan.steps[i].text, style->is_utf8);
        fprintf(out, "  %s\n", text);
    }
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_roce_macvlan_report *report = data;

    if (report->has_document && (!report->is_delete || report->changes.change_count)) {
        ath_change_view.to_text(style, out, &report->changes);
    } else {
        if (!report->changes.note_count)
            fputs(_("the document does not have this macvlan\n"), out);
        ath_change_notes_to_text(style, out, &report->changes, false);
        ath_change_notes_to_text(style, out, &report->changes, true);
    }
    switch (report->scope) {
    case ATH_ROCE_MACVLAN_BOTH:
        print_steps(style, out, report);
        break;
    case ATH_ROCE_MACVLAN_RECORD:
        fputs(_("the kernel was not touched (--record)\n"), out);
        break;
    case ATH_ROCE_MACVLAN_CAPTURE:
        fputs(_("the kernel was not touched (captured machine)\n"), out);
    }
    if (report->link.is_known && !(report->is_delete && !report->changes.is_dry_run))
        print_link(style, out, report);
    if (report->next) {
        ath_auto_free char *next = ath_clean(report->next, style->is_utf8);
        fprintf(out, _("next: %s\n"), next);
    }
}

const struct ath_view ath_roce_macvlan_view = {
    .schema = "aitherion.roce-macvlan/1",
    .title = "Output of `aitherion roce macvlan --json`",
    .fields = fields,
    .to_text = to_text,
};
