/* A macvlan as text and as data: changes, steps, and what is there in the end. */
#include "config.h"

#include "cli/output/roce_macvlan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/output/clean.h"
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

static bool has_link(const struct ath_roce_macvlan_report *report)
{
    return report->link.link.name[0] != '\0';
}

/* ---- data ---- */

static const char *const scopes[] = { "document-and-kernel", "document", "document-of-capture" };

static const char *const actions[] = {
    [ATH_STEP_MAKE_NETNS] = "make-namespace",
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
};

/* "aitherion-macvlan0" for its path, other paths as they are, NULL for the host's. */
static const char *name_of_place(const char *place)
{
    static const char folder[] = ATH_NETNS_FOLDER "/";
    return place && ath_starts_with(place, folder) ? place + strlen(folder) : place;
}

static json_t *steps_to_json(const struct ath_macvlan_plan *plan)
{
    json_t *steps = json_array();
    for (size_t i = 0; i < plan->count; i++) {
        const struct ath_macvlan_step *step = &plan->steps[i];
        const char *where = step->netns ? step->netns : name_of_place(step->place);
        json_array_append_new(
            steps, json_pack("{s:s, s:o, s:o, s:o}", "action", actions[step->action], "link",
                             ath_json_text(step->link[0] ? step->link : NULL), "namespace",
                             ath_json_text(where), "text", ath_json_text(step->text)));
    }
    return steps;
}

static json_t *addresses_to_json(const struct ath_link *link)
{
    json_t *list = json_array();
    for (size_t i = 0; i < link->address_count; i++) {
        ath_auto_free char *text = ath_address_format(&link->addresses[i]);
        if (!link->addresses[i].is_link_local)
            json_array_append_new(list, ath_json_text(text));
    }
    return list;
}

static json_t *end_to_json(const struct ath_link *link)
{
    const char *mode =
        link->macvlan_mode == ATH_UNKNOWN ? NULL : ath_macvlan_mode_word(link->macvlan_mode);
    return json_pack("{s:o, s:o, s:i, s:o, s:o, s:o}", "name", ath_json_text(link->name), "mode",
                     ath_json_text(mode), "mtu_bytes", link->mtu, "mac",
                     ath_json_text(link->mac[0] ? link->mac : NULL), "link",
                     ath_json_text(ath_link_state_word(link->state)), "addresses",
                     addresses_to_json(link));
}

static json_t *gid_to_json(const struct ath_roce_macvlan_link *link)
{
    if (link->gid_state == ATH_LINK_GID_NO_DEVICE)
        return json_null();
    bool is_found = link->gid_state == ATH_LINK_GID_FOUND;
    return json_pack("{s:o, s:i, s:o, s:o, s:o}", "device", ath_json_text(link->gid.device), "port",
                     link->gid.port, "index",
                     ath_json_number(is_found ? link->gid.gid.index : ATH_UNKNOWN), "type",
                     ath_json_text(is_found ? ath_gid_type_word(link->gid.gid.type) : NULL), "gid",
                     ath_json_text(is_found ? link->gid.gid.address : NULL));
}

static json_t *link_to_json(const struct ath_roce_macvlan_report *report)
{
    const struct ath_roce_macvlan_link *link = &report->link;
    bool is_nowhere = report->is_delete && link->state == ATH_MACVLAN_RECORDED;
    if (!link->is_known || is_nowhere)
        return json_null();
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "state", ath_macvlan_state_word(link->state),
        "namespace", ath_json_text(link->netns), "parent", ath_json_text(link->parent), "link",
        has_link(report) ? end_to_json(&link->link) : json_null(), "host_link",
        link->companion.name[0] ? end_to_json(&link->companion) : json_null(), "gid",
        gid_to_json(link), "is_ready", json_boolean(has_link(report) && !link->not_ready),
        "not_ready", ath_json_text(link->not_ready));
}

static json_t *to_json(const void *data)
{
    const struct ath_roce_macvlan_report *report = data;
    json_t *object = json_pack("{s:o, s:s, s:b}", "name", ath_json_text(report->name), "scope",
                               scopes[report->scope], "is_delete", report->is_delete);
    json_object_update_new(object, ath_change_view.to_json(&report->changes));
    json_object_set_new(object, "steps", steps_to_json(&report->plan));
    json_object_set_new(object, "macvlan", link_to_json(report));
    json_object_set_new(object, "next", ath_json_text(report->next));
    return object;
}

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
        [ATH_MACVLAN_GONE] = N_("gone: it ended with its container or its parent"),
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
    if (!has_link(report))
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
        fputs(report->is_delete ? _("the kernel has nothing of it: nothing to do\n")
                                : _("the kernel has it so already: nothing to do\n"),
              out);
    else
        fputs(is_dry_run ? _("would be done:\n") : _("done:\n"), out);
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
            fputs(_("the document does not have it\n"), out);
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
        fputs(_("this is a captured machine: only the document is concerned\n"), out);
    }
    if (report->link.is_known && !(report->is_delete && !report->changes.is_dry_run))
        print_link(style, out, report);
    if (report->next) {
        ath_auto_free char *next = ath_clean(report->next, style->is_utf8);
        fprintf(out, _("next: %s\n"), next);
    }
}

const struct ath_view ath_roce_macvlan_view = { "aitherion.roce-macvlan/1", to_json, to_text, NULL,
                                                0 };
