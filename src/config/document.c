/* Loads, keeps and saves a document. */
#include "config.h"

#include "config/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/pci.h"
#include "base/unknown.h"
#include "config/bind.h"
#include "config/forms.h"

enum { SAVE_WAIT_MS = 5000 };

void ath_document_free(struct ath_document *document)
{
    if (!document)
        return;
    ath_schema_clear(ath_schema_root(), document);
    ath_yaml_free(&document->tree);
    free(document->path);
    free(document->text);
    free(document->saved);
    if (document->is_locked)
        close(document->lock_fd);
    *document = (struct ath_document){ 0 };
}

/* is_yaml: see report_faults(). */
static const char *mend_of(const struct ath_faults *faults, bool is_yaml)
{
    if (faults->count == 1 && faults->items[0].code == ath_fault_word(ATH_FAULT_EMPTY))
        return "aitherion init --force";
    return is_yaml ? _("aitherion configure --set KEY=VALUE repairs a value; keys and values: "
                       "man aitherion-topology.yaml")
                   : "man aitherion-topology.yaml";
}

/* is_yaml: the file is YAML with faulty values, which can be changed by key. */
static int report_faults(const char *file, const struct ath_faults *faults, bool is_yaml,
                         struct ath_err *err)
{
    size_t count = faults->count + faults->left_out;
    ath_err_set(err, -EINVAL, ATH_E_DOCUMENT_INVALID,
                ngettext("the topology document '%s' has %zu fault",
                         "the topology document '%s' has %zu faults", count),
                file, count);
    return ath_err_hint(err, -EINVAL, "%s", mend_of(faults, is_yaml));
}

static int parse(const char *text, size_t length, const char *file, bool is_bound,
                 struct ath_document *out, struct ath_faults *faults, struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { .has_faults = !is_bound };
    ATH_AUTO(ath_faults) found = { 0 };

    bool is_yaml = ath_yaml_parse(text, length, &document.tree, &found);
    if (is_yaml && is_bound)
        ath_bind(&document, &found);
    if (found.count) {
        ath_faults_place(&found, file, text, length);
        ath_faults_free(faults);
        *faults = found;
        found = (struct ath_faults){ 0 };
        return report_faults(file, faults, is_yaml, err);
    }
    struct ath_text copy = { 0 };
    ath_text_add_bytes(&copy, text, length);
    document.length = length;
    document.text = ath_text_take(&copy);
    *out = document;
    document = (struct ath_document){ 0 };
    return 0;
}

int ath_document_parse(const char *text, size_t length, const char *file, struct ath_document *out,
                       struct ath_faults *faults, struct ath_err *err)
{
    return parse(text, length, file, true, out, faults, err);
}

static int report_missing(const char *path, struct ath_err *err)
{
    ath_err_set(err, -ENOENT, ATH_E_DOCUMENT_MISSING, _("there is no topology document '%s' yet"),
                path);
    return ath_err_hint(err, -ENOENT, "aitherion init");
}

static int load(const char *path, bool is_bound, struct ath_document *out,
                struct ath_faults *faults, struct ath_err *err)
{
    ath_auto_free char *text = NULL;
    size_t length;
    int status = ath_file_read(path, ATH_YAML_BYTES_MAX, &text, &length, err);

    if (status == -ENOENT || status == -ENOTDIR)
        return report_missing(path, err);
    if (status)
        return status;
    status = parse(text, length, path, is_bound, out, faults, err);
    if (status)
        return status;
    out->path = ath_xstrdup(path);
    out->saved = ath_steal(&text);
    out->saved_length = length;
    return 0;
}

int ath_document_load(const char *path, struct ath_document *out, struct ath_faults *faults,
                      struct ath_err *err)
{
    return load(path, true, out, faults, err);
}

int ath_document_load_faulty(const char *path, struct ath_document *out, struct ath_faults *faults,
                             struct ath_err *err)
{
    return load(path, false, out, faults, err);
}

static int open_document(const char *path, int timeout_ms, bool is_bound, struct ath_document *out,
                         struct ath_faults *faults, struct ath_err *err)
{
    if (access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR))
        return report_missing(path, err); /* taking a lock would create its folder */
    int fd;
    int status = ath_file_lock(path, timeout_ms, &fd, err);
    if (status)
        return status;
    status = load(path, is_bound, out, faults, err);
    if (status) {
        close(fd);
        return status;
    }
    out->is_locked = true;
    out->lock_fd = fd;
    return 0;
}

int ath_document_open(const char *path, int timeout_ms, struct ath_document *out,
                      struct ath_faults *faults, struct ath_err *err)
{
    return open_document(path, timeout_ms, true, out, faults, err);
}

int ath_document_open_faulty(const char *path, int timeout_ms, struct ath_document *out,
                             struct ath_faults *faults, struct ath_err *err)
{
    return open_document(path, timeout_ms, false, out, faults, err);
}

bool ath_document_is_changed(const struct ath_document *document)
{
    return !document->saved || document->length != document->saved_length ||
           memcmp(document->text, document->saved, document->length) != 0;
}

/* Returns 0 if no editor and no other aitherion wrote the file since it was read, else an error. */
static int check_unchanged(const struct ath_document *document, struct ath_err *err)
{
    ath_auto_free char *now = NULL;
    size_t length = 0;
    int status = ath_file_read(document->path, ATH_YAML_BYTES_MAX, &now, &length, err);

    if (status == -ENOENT)
        return 0; /* there is no file whose contents could be lost */
    if (status && status != -EFBIG)
        return status;
    if (!status && document->saved && length == document->saved_length &&
        !memcmp(now, document->saved, length))
        return 0;
    ath_err_set(err, -ESTALE, ATH_E_DOCUMENT_CHANGED,
                _("cannot save '%s': another program has changed it since it was read"),
                document->path);
    return ath_err_hint(err, -ESTALE, _("open it again and repeat the change"));
}

static int save_locked(struct ath_document *document, struct ath_err *err)
{
    int status = check_unchanged(document, err);
    if (!status)
        status = ath_file_save(document->path, document->text, document->length, err);
    if (status)
        return status;
    struct ath_text copy = { 0 };
    ath_text_add_bytes(&copy, document->text, document->length);
    free(document->saved);
    document->saved_length = document->length;
    document->saved = ath_text_take(&copy);
    return 0;
}

int ath_document_save(struct ath_document *document, struct ath_err *err)
{
    ath_auto_close int fd = -1;

    if (!ath_document_is_changed(document))
        return 0;
    int status = document->is_locked ? 0 : ath_file_lock(document->path, SAVE_WAIT_MS, &fd, err);
    return status ? status : save_locked(document, err);
}

int ath_document_create(const char *path, const char *text, bool is_forced, struct ath_err *err)
{
    ath_auto_close int fd = -1;
    int status = ath_file_lock(path, SAVE_WAIT_MS, &fd, err);

    if (status)
        return status;
    if (!is_forced && !access(path, F_OK)) {
        ath_err_set(err, -EEXIST, ATH_E_EXISTS, _("cannot write '%s': it exists already"), path);
        return ath_err_hint(err, -EEXIST, "aitherion init --force");
    }
    return ath_file_save(path, text, strlen(text), err);
}

struct ath_document_numa *ath_document_numa(const struct ath_document *document, int id)
{
    for (size_t i = 0; i < document->numa.count; i++)
        if (document->numa.items[i].id == id)
            return &document->numa.items[i];
    return NULL;
}

int ath_document_metrics_port(const struct ath_document_numa *entry)
{
    char address[ATH_FORM_ADDRESS_BYTES];
    int port = ATH_UNKNOWN;
    if (entry->metrics)
        (void)ath_form_listen(entry->metrics, address, &port);
    return port;
}

int ath_document_data_port(const struct ath_document_numa *entry)
{
    return entry->data_iface.count ? entry->data_port : ATH_UNKNOWN;
}

struct ath_document_card *ath_document_card(const struct ath_document *document, const char *pci)
{
    struct ath_pci wanted, has;
    if (ath_pci_parse(pci, &wanted))
        return NULL;
    for (size_t i = 0; i < document->roce.cards.count; i++)
        if (!ath_pci_parse(document->roce.cards.items[i].pci, &has) &&
            ath_pci_equals(&has, &wanted))
            return &document->roce.cards.items[i];
    return NULL;
}

struct ath_document_macvlan *ath_document_macvlan(const struct ath_document *document,
                                                  const char *name)
{
    for (size_t i = 0; i < document->roce.macvlans.count; i++)
        if (!strcmp(document->roce.macvlans.items[i].name, name))
            return &document->roce.macvlans.items[i];
    return NULL;
}
