/* Access: encryption of connections, certificates, limits of clients, and identities with their
 * keys. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/key_name.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "cli/ending.h"
#include "cli/output/ending.h"
#include "cli/tui/dialog.h"
#include "cli/tui/field.h"
#include "cli/tui/screens.h"
#include "config/edit.h"
#include "config/key_file.h"
#include "config/key_folder.h"

/* ---- rows and keys ---- */

static const struct ath_document_identity *row_of(const struct ath_tui *tui, const char *name)
{
    const struct ath_document *document = &tui->store.document;
    for (size_t i = 0; i < document->identities.count; i++)
        if (!strcmp(document->identities.items[i].name, name))
            return &document->identities.items[i];
    return NULL;
}

/* The keys of this machine. Owns its members. */
struct keys {
    char *path;
    bool is_there, is_folder;
    struct ath_texts names; /* one key for all is the key `default` */
};

static void keys_free(struct keys *keys)
{
    free(keys->path);
    ath_texts_free(&keys->names);
}

/* A captured machine has no keys here. */
static void find_keys(const struct ath_tui *tui, struct keys *out)
{
    if (!ath_screens_can_run(tui, "key"))
        return;
    out->path = ath_key_file_find(tui->store.document.key_file, &out->is_there);
    out->is_folder = ath_key_folder_is(out->path);
    if (out->is_folder)
        ath_key_folder_list(out->path, &out->names, NULL);
    else if (out->is_there)
        ath_texts_add(&out->names, ATH_KEY_NAME_DEFAULT);
}

static bool has_row(const struct ath_tui *tui, const char *name)
{
    return row_of(tui, name) != NULL;
}

static bool has_no_row(const struct ath_tui *tui, const char *name)
{
    return !has_row(tui, name);
}

static bool has_key(const struct ath_tui *tui, const char *name)
{
    ATH_AUTO(keys) keys = { 0 };
    find_keys(tui, &keys);
    return ath_texts_has(&keys.names, name);
}

/* Returns whether the key can be removed alone: the only key of all can only be replaced. */
static bool has_key_of_its_own(const struct ath_tui *tui, const char *name)
{
    ATH_AUTO(keys) keys = { 0 };
    find_keys(tui, &keys);
    return keys.is_folder && ath_texts_has(&keys.names, name);
}

static bool can_make_key(const struct ath_tui *tui, const char *name)
{
    return ath_screens_can_run(tui, "key add") && !has_key(tui, name);
}

static bool has_row_and_key(const struct ath_tui *tui, const char *name)
{
    return has_row(tui, name) && has_key(tui, name);
}

static bool identity_exists(const struct ath_tui *tui, const char *name)
{
    return has_row(tui, name) || has_key(tui, name);
}

/* Only a row, or a key of its own, can be removed. */
static bool can_remove(const struct ath_tui *tui, const char *name)
{
    return has_key_of_its_own(tui, name) || (has_row(tui, name) && !has_key(tui, name));
}

/* ---- the list ---- */

/* Returns "4G of each GPU, 2 sessions, admin". The caller frees it. */
static char *rights_words(const struct ath_document_identity *row)
{
    struct ath_text words = { 0 };

    if (row && row->memory)
        ath_text_add(&words, _("%s of each GPU"), row->memory);
    if (row && row->share != ATH_UNSET)
        ath_text_add_part(&words, _(", "),
                          row->is_capped ? _("%d %% of the time at most") : _("%d %% of the time"),
                          row->share);
    if (row && row->priority != ATH_UNSET)
        ath_text_add_part(&words, _(", "), _("priority %s"), ath_time_priorities[row->priority]);
    if (row && row->sm_share != ATH_UNSET)
        ath_text_add_part(&words, _(", "), _("%d %% of the multiprocessors"), row->sm_share);
    if (row && row->sessions != ATH_UNSET)
        ath_text_add_part(&words, _(", "),
                          ngettext("%d session", "%d sessions", (unsigned long)row->sessions),
                          row->sessions);
    if (row && row->gpus.count)
        ath_text_add_part(&words, _(", "), ngettext("%zu GPU", "%zu GPUs", row->gpus.count),
                          row->gpus.count);
    if (row && row->is_admin)
        ath_text_add_part(&words, _(", "), "%s", _("admin"));
    if (!words.length)
        ath_text_add(&words, "%s", _("no limits"));
    return ath_text_take(&words);
}

static void list_identity(const struct ath_tui *tui, const struct keys *keys, const char *name,
                          struct ath_menu_list *out)
{
    ath_auto_free char *rights = rights_words(row_of(tui, name));
    bool is_without = keys->path && !ath_texts_has(&keys->names, name);
    ath_auto_free char *detail =
        ath_xasprintf("%s%s%s", rights, is_without ? _(", ") : "", is_without ? _("no key") : "");
    ath_auto_free char *label = ath_tui_fill(_("Identity {0}"), name);
    ath_menu_list_add(out, name, label, detail);
}

/* Lists the rows of the document, then keys without a row. */
static void list_identities(const struct ath_tui *tui, struct ath_menu_list *out)
{
    ATH_AUTO(keys) keys = { 0 };
    const struct ath_document *document = &tui->store.document;

    find_keys(tui, &keys);
    for (size_t i = 0; i < document->identities.count; i++)
        list_identity(tui, &keys, document->identities.items[i].name, out);
    for (size_t i = 0; i < keys.names.count; i++)
        if (!row_of(tui, keys.names.items[i]))
            list_identity(tui, &keys, keys.names.items[i], out);
}

static char *about_keys(const struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(keys) keys = { 0 };

    (void)subject;
    find_keys(tui, &keys);
    if (!keys.path)
        return NULL;
    return ath_xasprintf(keys.is_folder  ? _("The keys are in the folder '%s'.")
                         : keys.is_there ? _("'%s' is one key for all. The first key with a name "
                                             "makes it a folder of keys.")
                                         : _("There is no key yet; the first start makes '%s'."),
                         keys.path);
}

/* ---- changing ---- */

static bool append_row(struct ath_tui *tui, const char *name)
{
    const struct ath_change field = { "name", name };
    struct ath_err err = { 0 };

    if (ath_document_append(&tui->store.document, "identities", &field, 1, &err)) {
        ath_tui_say_error(tui, &err);
        return false;
    }
    ath_tui_say(tui, ATH_ROLE_GOOD, _("'%s' is in the document; not saved yet"), name);
    return true;
}

static bool add_row(struct ath_tui *tui, const char *name)
{
    append_row(tui, name);
    return false;
}

static bool add_identity(struct ath_tui *tui, const char *subject)
{
    ath_auto_free char *name = ath_field_ask(tui, "identities", "name", NULL);

    (void)subject;
    if (name && (has_row(tui, name) || append_row(tui, name)))
        ath_menu_show(tui, &ath_menu_identity, name);
    return false;
}

static bool make_key(struct ath_tui *tui, const char *name)
{
    ath_screens_run(tui, (const char *const[]){ "key", "add", name, NULL });
    return false;
}

static bool export_key(struct ath_tui *tui, const char *name)
{
    ath_auto_free char *title = ath_tui_fill(_("Export the key {0} to a file"), name);
    ath_auto_free char *path = ath_screens_ask_file(tui, title);

    if (path)
        ath_screens_run(tui,
                        (const char *const[]){ "key", "--export", name, "--output", path, NULL });
    return false;
}

static bool remove_row(struct ath_tui *tui, const char *name)
{
    ath_auto_free char *title = ath_tui_fill(_("Remove the limits and the role of {0}?"), name);

    if (ath_screens_confirm(tui, title, _("The key stays, and its programs go on without limits."),
                            _("Yes, remove them from the document")))
        ath_screens_remove(tui, "identities", name);
    return false;
}

/* Adds a shallow copy of the group with the sessions of an identity, or of a runtime that does not
 * say who has them. The caller frees the list of the sessions. */
static void add_group(const struct ath_session_group *group, const char *name,
                      struct ath_session_report *out)
{
    struct ath_session_group copy = *group;

    copy.sessions = (struct ath_runtime_sessions){ 0 };
    for (size_t i = 0; i < group->sessions.count; i++) {
        const struct ath_runtime_session *session = &group->sessions.items[i];
        if (session->identity && !strcmp(session->identity, name))
            *(struct ath_runtime_session *)ath_push(&copy.sessions.items, &copy.sessions.count,
                                                    sizeof *session) = *session;
    }
    if (group->status || copy.sessions.count)
        *(struct ath_session_group *)ath_push(&out->items, &out->count, sizeof copy) = copy;
}

struct asking {
    const struct ath_tui *tui;
    const char *name;
};

/* In a child: returns the programs of an identity that run now; "" for none. */
static char *programs_of(void *context)
{
    const struct asking *asking = context;
    const struct ath_tui *tui = asking->tui;
    const char *name = asking->name;
    ATH_AUTO(ath_ending) ending = { 0 };
    struct ath_session_report own = { 0 };
    struct ath_err err;

    if (ath_ending_find(tui->store.cli, NULL, &ending, &err))
        return ath_xstrdup(err.message);
    for (size_t i = 0; i < ending.report.count; i++)
        add_group(&ending.report.items[i], name, &own);
    ath_auto_free char *words = own.count ? ath_ending_words(&own) : NULL;
    for (size_t i = 0; i < own.count; i++)
        free(own.items[i].sessions.items);
    free(own.items);
    return words ? ath_xasprintf("%s %s", _("Running programs that would end:"), words)
                 : ath_xstrdup("");
}

/* The question names the programs, so the command does not ask again. */
static bool remove_identity(struct ath_tui *tui, const char *name)
{
    bool has_own = has_key_of_its_own(tui, name);
    ath_auto_free char *title = ath_tui_fill(_("Remove the identity {0}?"), name);
    ath_auto_free char *programs =
        has_own ? ath_screens_ask(tui, _("asking the runtimes which programs use them ..."),
                                  programs_of, &(struct asking){ tui, name })
                : ath_xstrdup("");

    if (!programs || !ath_screens_confirm(tui, title, programs,
                                          has_own ? _("Yes, remove it and its key")
                                                  : _("Yes, remove it from the document")))
        return false;
    if (has_row(tui, name) && !ath_screens_remove(tui, "identities", name))
        return false;
    if (has_own)
        ath_screens_run(tui, (const char *const[]){ "key", "remove", name, "--yes", NULL });
    return false;
}

/* ---- the certificate ---- */

static bool has_certificate(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return tui->store.document.tls_certificate != NULL;
}

static char *certificate_words(const struct ath_tui *tui, const char *subject)
{
    return ath_field_shown(tui, "", subject, "tls_certificate");
}

/* Sets the certificate and its key, of which the document has both or neither. */
static void set_certificate(struct ath_tui *tui, const char *certificate, const char *key)
{
    const struct ath_change changes[] = { { "tls_certificate", certificate }, { "tls_key", key } };
    struct ath_err err = { 0 };

    if (ath_document_set_all(&tui->store.document, changes, ATH_COUNT(changes), &err))
        ath_tui_say_error(tui, &err);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("'%s' is now %s; not saved yet"), "tls_certificate",
                    certificate);
}

static bool choose_certificate(struct ath_tui *tui, const char *subject)
{
    const struct ath_document *document = &tui->store.document;
    ath_auto_free char *certificate =
        ath_field_ask(tui, "", "tls_certificate", document->tls_certificate);
    ath_auto_free char *key =
        certificate ? ath_field_ask(tui, "", "tls_key", document->tls_key) : NULL;

    (void)subject;
    if (key)
        set_certificate(tui, certificate, key);
    return false;
}

static bool remove_certificate(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    if (ath_screens_confirm(tui, _("Use no certificate?"),
                            _("Clients that want one no longer reach the runtimes by TLS. The "
                              "files stay."),
                            _("Yes, remove it from the document")))
        set_certificate(tui, "null", "null");
    return false;
}

/* ---- the screens ---- */

static const struct ath_menu_row identity_rows[] = {
    { .label = N_("Memory of each GPU"), .fields = { "memory" }, .is_shown = has_row },
    { .label = N_("Share of a GPU's time"),
      .help = N_("in percent, for all its sessions together; then whether it never gets more"),
      .fields = { "share", "cap" },
      .is_shown = has_row },
    { .label = N_("Highest priority"),
      .help = N_("that its programs may ask for; those of a higher one go first"),
      .fields = { "priority" },
      .is_shown = has_row },
    { .label = N_("Part of a GPU's multiprocessors"),
      .help = N_("in percent, for each of its sessions"),
      .fields = { "sm_share" },
      .is_shown = has_row },
    { .label = N_("Sessions"), .fields = { "sessions" }, .is_shown = has_row },
    { .label = N_("GPUs"), .fields = { "gpus" }, .is_shown = has_row },
    { .label = N_("Administrator"), .fields = { "admin" }, .is_shown = has_row },
    { .label = N_("Give it limits or a role"),
      .help = N_("adds a row for it to the document"),
      .is_shown = has_no_row,
      .act = add_row },
    { .label = N_("Make its key"),
      .help = N_("saves, then makes the key that its programs prove; runtimes take it at once"),
      .command = "aitherion key add {0}",
      .is_shown = can_make_key,
      .act = make_key },
    { .label = N_("Export its key to a file"),
      .help = N_("for another machine or user: aitherion key --import < FILE"),
      .command = "aitherion key --export {0} --output FILE",
      .is_shown = has_key_of_its_own,
      .act = export_key },
    { .label = N_("Remove its limits and its role"),
      .help = N_("removes its row from the document; the key stays"),
      .is_shown = has_row_and_key,
      .act = remove_row },
    { .label = N_("Remove the identity"),
      .help = N_("removes its row and its key, which ends its programs"),
      .command = "aitherion key remove {0}",
      .is_shown = can_remove,
      .act = remove_identity },
    { .label = N_("Save and return"),
      .help = N_("write the document; Start gives it to runtimes, without a restart"),
      .act = ath_screens_save_and_return },
    { .label = NULL },
};

const struct ath_menu ath_menu_identity = {
    .title = N_("Identity {0}"),
    .list = "identities",
    .rows = identity_rows,
    .exists = identity_exists,
};

static const struct ath_menu_row access_rows[] = {
    { .label = N_("Encryption of TCP"),
      .help = N_("encrypt by TLS what leaves the machine (auto), all (on) or nothing (off)"),
      .fields = { "encrypt" } },
    { .label = N_("Certificate of the runtimes"),
      .help = N_("and its private key, for clients that want a certificate"),
      .command = "aitherion configure --set tls_certificate=FILE --set tls_key=FILE",
      .value = certificate_words,
      .act = choose_certificate },
    { .label = N_("Remove the certificate"),
      .help = N_("the key alone proves the runtimes then"),
      .command = "aitherion configure --set tls_certificate=null --set tls_key=null",
      .is_shown = has_certificate,
      .act = remove_certificate },
    { .label = N_("Authorities that clients trust"),
      .help = N_("programs of this machine want certificates that one of them has signed"),
      .fields = { "tls_ca" } },
    { .label = N_("TLS and passwords of metrics"),
      .help = N_("a web configuration file of Prometheus' exporters"),
      .fields = { "metrics_web" } },
    { .label = N_("Sessions from one source"),
      .help = N_("the most from one address, one user of this machine, or one of several keys"),
      .fields = { "limits.sessions_per_source" } },
    { .label = N_("Host memory of one session"),
      .help = N_("the part of a host's memory that one session may take"),
      .fields = { "limits.host_fraction" } },
    { .list = list_identities,
      .help = N_("limits, role and key of this identity"),
      .command = "aitherion configure --set identities.{0}.memory=SIZE",
      .opens = &ath_menu_identity },
    { .label = N_("Add an identity"),
      .help = N_("for a user or a team: a name, limits, and a key of its own"),
      .command = "aitherion key add NAME --memory SIZE",
      .act = add_identity },
    { .label = N_("Save and return"),
      .help = N_("write the document; nothing is written before"),
      .act = ath_screens_save_and_return },
    { .label = NULL },
};

const struct ath_menu ath_menu_access = {
    .title = N_("Access and encryption"),
    .list = "",
    .rows = access_rows,
    .about = about_keys,
};
