/*
 * Shows the plan of a document on a machine, as `start --dry-run` does, with a made-up engine:
 *
 *     plan_show ROOT DOCUMENT [text|json|facts] [WORD...]
 *
 * ROOT is a folder, or "xml:FILE". Words: process, sim, nvidia-runtime, cdi, no-bridge, rootless,
 * limited, typical (the engine that a dry run assumes), user=UID:GID, run=FOLDER, key=FILE, or an
 * entry's id. On failure it exits with 1 and prints "error CODE: MESSAGE", with a line
 * "FILE:LINE:COLUMN: CODE: MESSAGE" for each fault.
 */
#include "config.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/output/start_plan.h"
#include "numa/discover.h"

struct words {
    struct ath_plan_options options;
    int ids[16];
    bool is_typical;
};

static const char *value_of(const char *word, const char *key)
{
    return ath_starts_with(word, key) ? word + strlen(key) : NULL;
}

static bool take_flag(struct words *out, const char *word)
{
    struct ath_plan_engine *engine = &out->options.engine;
    const struct {
        const char *word;
        bool *target, value;
    } flags[] = {
        { "process", &out->options.is_process, true },
        { "sim", &out->options.is_sim, true },
        { "nvidia-runtime", &engine->has_nvidia_runtime, true },
        { "cdi", &engine->has_cdi, true },
        { "no-bridge", &engine->has_bridge, false },
        { "rootless", &engine->is_rootless, true },
        { "limited", &engine->is_limited, true },
        { "typical", &out->is_typical, true },
    };
    for (size_t i = 0; i < ATH_COUNT(flags); i++)
        if (!strcmp(flags[i].word, word)) {
            *flags[i].target = flags[i].value;
            return true;
        }
    return false;
}

static int take_word(struct words *out, const char *word)
{
    const char *value;
    int id;

    if (take_flag(out, word))
        return 0;
    if ((value = value_of(word, "user=")))
        out->options.user = value;
    else if ((value = value_of(word, "run=")))
        out->options.run_folder = value;
    else if ((value = value_of(word, "key=")))
        out->options.key_path = value;
    else if (out->options.id_count < ATH_COUNT(out->ids) && !ath_parse_int(word, 0, 65535, &id))
        out->ids[out->options.id_count++] = id;
    else
        return -1;
    return 0;
}

static int read_all(const char *source, const char *path, struct ath_machine *machine,
                    struct ath_plan_facts *facts, struct ath_document *document,
                    struct ath_faults *faults, struct ath_err *err)
{
    const char *xml = value_of(source, "xml:");
    const struct ath_machine_source from = { .root = xml ? NULL : source, .topology = xml };
    ATH_AUTO(ath_root) root = { .fd = -1 };
    int status = ath_machine_discover(&from, machine, err);

    if (!status && !xml)
        status = ath_root_open(source, &root, err);
    if (!status)
        status = ath_document_load(path, document, faults, err);
    if (!status)
        ath_plan_facts_read(xml ? NULL : &root, machine, facts);
    return status;
}

static int fail(const struct ath_err *err, const struct ath_faults *faults)
{
    printf("error %s: %s\n", ath_error_word(err->code), err->message);
    for (size_t i = 0; i < faults->count; i++) {
        const struct ath_fault *fault = &faults->items[i];
        const char *slash = strrchr(fault->file, '/');
        printf("%s:%d:%d: %s: %s\n", slash ? slash + 1 : fault->file, fault->line, fault->column,
               fault->code, fault->message);
    }
    return 1;
}

static void show_facts(const struct ath_plan_facts *facts)
{
    for (size_t i = 0; i < facts->devices.count; i++)
        printf("device %s\n", facts->devices.items[i]);
    for (size_t i = 0; i < facts->verbs_count; i++)
        printf("verbs %s of %s\n", facts->verbs[i].name, facts->verbs[i].rdma_device);
    for (size_t i = 0; i < facts->cdi.count; i++)
        printf("cdi %s, minor %d\n", facts->cdi.devices[i].name, facts->cdi.devices[i].minor);
    for (size_t i = 0; i < facts->libraries.count; i++)
        printf("library %s is %s\n", facts->libraries.items[i].name,
               facts->libraries.items[i].path);
    for (size_t i = 0; i < facts->address_count; i++)
        printf("address %s of %s\n", facts->addresses[i].address, facts->addresses[i].link);
    printf("cgroup version %d\n", facts->cgroup_version);
}

static int show(const struct ath_plan *plan, const char *format, struct ath_err *err)
{
    const struct ath_style style = { .columns = 100 };
    const struct ath_start_plan_report report = { .plan = plan,
                                                  .identities = "",
                                                  .foreseen = &(struct ath_start_results){ 0 },
                                                  .ends = &(struct ath_session_report){ 0 } };
    return ath_output(&ath_start_plan_view, &report,
                      strcmp(format, "json") ? ATH_FORMAT_TEXT : ATH_FORMAT_JSON, &style, stdout,
                      err);
}

int main(int count, char **arguments)
{
    struct words words = { .options.engine = { .has_bridge = true, .limits_logs = true } };
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_plan_facts) facts = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_plan) plan = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };

    setlocale(LC_ALL, "");
    words.options.ids = words.ids;
    bool is_usage = count < 4;
    for (int i = 4; i < count; i++)
        is_usage |= take_word(&words, arguments[i]) != 0;
    if (is_usage) {
        fprintf(stderr, "usage: see the head of plan_show.c\n");
        return 2;
    }
    int status = read_all(arguments[1], arguments[2], &machine, &facts, &document, &faults, &err);
    if (!status && !strcmp(arguments[3], "facts")) {
        show_facts(&facts);
        return 0;
    }
    if (words.is_typical)
        words.options.engine = ath_plan_engine_typical(&facts);
    if (!status)
        status = ath_plan_make(&document, &machine, &facts, &words.options, &plan, &faults, &err);
    if (!status)
        status = show(&plan, arguments[3], &err);
    return status ? fail(&err, &faults) : 0;
}
