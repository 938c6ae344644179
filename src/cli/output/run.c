/* The equivalent command line, for a shell and as JSON. */
#include "config.h"

#include "cli/output/run.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/level.h"
#include "base/time_claim.h"
#include "cli/output/fields.h"
#include "cli/output/words.h"

const char *const ath_run_transports[] = { "auto", "shm", "tcp", "udp", NULL };
const char *const ath_run_encryptions[] = { "auto", "on", "off", NULL };

void ath_run_choice_free(struct ath_run_choice *choice)
{
    if (!choice)
        return;
    free(choice->gpus);
    free(choice->visible);
    ath_texts_free(&choice->why);
    *choice = (struct ath_run_choice){ 0 };
}

static json_t *make_true(const void *object)
{
    (void)object;
    return json_true();
}

static json_t *make_environment(const void *object)
{
    const struct ath_run_report *report = object;
    json_t *environment = json_object();

    for (size_t i = 0; i < ATH_RUN_VARIABLES && report->environment[i].name; i++)
        json_object_set_new(environment, report->environment[i].name,
                            json_string(report->environment[i].value));
    return environment;
}

static json_t *make_command(const void *object)
{
    const struct ath_run_report *report = object;
    json_t *words = json_array();

    for (size_t i = 0; i < report->word_count; i++) {
        json_t *word = json_string(report->words[i]);
        json_array_append_new(words, word ? word : json_null()); /* not UTF-8 */
    }
    return words;
}

/* The variables, for the schema: make_environment() has their values. */
static const struct ath_field variable_fields[] = {
    ATH_FIELD("LD_LIBRARY_PATH", ATH_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("AITHERION_SERVER", ATH_OF(ATH_FIELD_TEXT), .help = "without --local",
              .is_optional = true),
    ATH_FIELD("AITHERION_LOCAL", ATH_OF(ATH_FIELD_TEXT),
              .help = "with --local: the runtime that keeps the books", .is_optional = true),
    ATH_FIELD("AITHERION_DRIVER", ATH_OF(ATH_FIELD_TEXT),
              .help = "with --local: the file of the machine's driver", .is_optional = true),
    ATH_FIELD("AITHERION_KEY_FILE", ATH_OF(ATH_FIELD_TEXT), .is_optional = true),
    ATH_FIELD("AITHERION_KEY_NAME", ATH_OF(ATH_FIELD_TEXT), .help = "with --key-name",
              .is_optional = true),
    ATH_FIELD("AITHERION_TRANSPORT", ATH_OF(ATH_FIELD_TEXT), .is_optional = true,
              .words = ath_run_transports),
    ATH_FIELD("AITHERION_MEMORY", ATH_OF(ATH_FIELD_TEXT), .help = "with --memory",
              .is_optional = true),
    ATH_FIELD("AITHERION_SHARE", ATH_OF(ATH_FIELD_TEXT),
              .help = "with --share: a percentage, and \",cap\" with --cap", .is_optional = true),
    ATH_FIELD("AITHERION_PRIORITY", ATH_OF(ATH_FIELD_TEXT), .help = "with --priority",
              .is_optional = true, .words = ath_time_priorities),
    ATH_FIELD("AITHERION_SM_SHARE", ATH_OF(ATH_FIELD_TEXT), .help = "with --sm-share: a percentage",
              .is_optional = true),
    ATH_FIELD("AITHERION_ENCRYPT", ATH_OF(ATH_FIELD_TEXT), .is_optional = true,
              .words = ath_run_encryptions),
    ATH_FIELD("AITHERION_TLS_CA", ATH_OF(ATH_FIELD_TEXT), .is_optional = true),
    ATH_FIELD("CUDA_VISIBLE_DEVICES", ATH_OF(ATH_FIELD_TEXT),
              .help = "with --gpus: UUIDs, or numbers if these are not known or not unique",
              .is_optional = true),
    ATH_FIELD("AITHERION_LOG_LEVEL", ATH_OF(ATH_FIELD_TEXT), .help = "with -v or --log-level",
              .is_optional = true, .words = ath_level_names),
    { .name = NULL },
};

#define AT(member) ATH_AT(struct ath_run_gpu, member)
static const struct ath_field gpu_fields[] = {
    ATH_FIELD("index", AT(index), .help = "number in the program's list of all runtimes' GPUs"),
    ATH_FIELD("server", AT(server)),
    ATH_FIELD("pci", AT(pci), .is_nullable = true),
    ATH_FIELD("uuid", AT(uuid), .is_nullable = true),
    ATH_FIELD("name", AT(name)),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_run_choice, member)
static const struct ath_field choice_fields[] = {
    ATH_FIELD("gpus", ATH_AT_LIST(struct ath_run_choice, gpus, count), .fields = gpu_fields),
    ATH_FIELD("ring_bandwidth_bytes_per_s", AT(ring_bandwidth),
              .help =
                  "of the slowest link of the best ring through the GPUs, in one direction; null "
                  "if it is not known or was not asked, and for a single GPU",
              .is_nullable = true),
    ATH_FIELD("why", AT(why), .help = "the reasons in words"),
    { .name = NULL },
};
#undef AT

static const void *find_choice(const void *object)
{
    return ((const struct ath_run_report *)object)->choice;
}

static const struct ath_field fields[] = {
    ATH_FIELD("is_dry_run", ATH_OF(ATH_FIELD_BOOL), .rules = "{\"const\": true}",
              .make = make_true),
    ATH_FIELD("environment", ATH_OF(ATH_FIELD_OBJECT),
              .help = "variables that are added to the program's environment",
              .fields = variable_fields, .make = make_environment),
    ATH_FIELD("command", ATH_LIST_OF(ATH_FIELD_TEXT),
              .help = "the program and its arguments; a word that is not UTF-8 is null",
              .rules = "{\"items\": {\"type\": [\"string\", \"null\"]}, \"minItems\": 1}",
              .make = make_command),
    ATH_FIELD("choice", ATH_OF(ATH_FIELD_OBJECT), .help = "what --gpus chose; null without it",
              .is_nullable = true, .fields = choice_fields, .find = find_choice),
    { .name = NULL },
};

static void print_word(FILE *out, const char *word)
{
    ath_auto_free char *quoted = ath_words_shell(word);
    fputs(quoted, out);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_run_report *report = data;
    (void)style;
    fputs("env", out);
    for (size_t i = 0; i < ATH_RUN_VARIABLES && report->environment[i].name; i++) {
        fprintf(out, " %s=", report->environment[i].name);
        print_word(out, report->environment[i].value);
    }
    for (size_t i = 0; i < report->word_count; i++) {
        fputc(' ', out);
        print_word(out, report->words[i]);
    }
    fputc('\n', out);
    for (size_t i = 0; report->choice && i < report->choice->why.count; i++)
        fprintf(out, "# %s\n", report->choice->why.items[i]); /* a comment for a shell */
}

const struct ath_view ath_run_view = {
    .schema = "aitherion.run/1",
    .title = "Output of `aitherion run --dry-run --json`",
    .fields = fields,
    .to_text = to_text,
};
