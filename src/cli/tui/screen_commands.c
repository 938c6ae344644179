/* Screens whose rows run a command: a program with the runtimes' GPUs, the shared key, the
 * image. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/dialog.h"
#include "cli/tui/screens.h"

/* Accepts any line that is not empty. */
static bool accept(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    (void)tui;
    (void)data;
    if (text[strspn(text, " ")])
        return true;
    *out_reason = ath_xstrdup(_("it must not be empty"));
    return false;
}

/* ---- a program ---- */

bool ath_screens_can_run_program(const struct ath_tui *tui, const char *subject)
{
    return ath_screens_has_document(tui, subject) && ath_screens_can_run(tui, "run");
}

/* Returns the value of --numa: of several entries the one that the user chooses, or all; NULL if
 * the user goes back. The caller frees it. */
static char *choose_entry(struct ath_tui *tui)
{
    const struct ath_document *document = &tui->store.document;
    ATH_AUTO(ath_choices) choices = { 0 };

    ath_choices_add(&choices, "all", _("The GPUs of all runtimes in one list"), NULL);
    for (size_t i = 0; i < document->numa.count; i++) {
        ath_auto_free char *id = ath_xasprintf("%d", document->numa.items[i].id);
        ath_auto_free char *label = ath_tui_fill(_("The GPUs of NUMA{0}"), id);
        ath_choices_add(&choices, id, label, NULL);
    }
    int chosen = document->numa.count < 2
                     ? 0
                     : ath_dialog_choose(tui, _("Which GPUs?"), NULL, &choices, false);
    return chosen < 0 ? NULL : ath_xstrdup(choices.items[chosen].value);
}

/* Splits the line into words, up to *out_words. A line with signs of the shell is for a shell. */
static void split_line(char *line, const char **out_words, size_t most)
{
    size_t count = 0;

    if (line[strcspn(line, "\"'\\$`;&|<>()*?[]{}~#!=\t")]) {
        out_words[count++] = "sh";
        out_words[count++] = "-c";
        out_words[count++] = line;
        line = NULL;
    }
    for (char *word; count + 1 < most && (word = strsep(&line, " "));)
        if (*word)
            out_words[count++] = word;
    out_words[count] = NULL;
}

bool ath_screens_run_program(struct ath_tui *tui, const char *subject)
{
    enum { FIXED = 4, WORDS_MAX = 24 };
    const char *words[FIXED + WORDS_MAX] = { "run", "--numa" };
    ath_auto_free char *line = ath_dialog_input(
        tui, _("Run a program"), _("The program and its arguments."), NULL, accept, NULL);
    ath_auto_free char *entry = line ? choose_entry(tui) : NULL;

    (void)subject;
    if (!entry)
        return false;
    words[2] = entry;
    words[3] = "--";
    split_line(line, words + FIXED, WORDS_MAX);
    ath_screens_run(tui, words);
    return false;
}

/* ---- the shared key ---- */

static bool show_key(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    ath_screens_run(tui, (const char *const[]){ "key", NULL });
    return false;
}

/* The command asks before it replaces a key. */
static bool make_key(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    ath_screens_run(tui, (const char *const[]){ "key", "--new", NULL });
    return false;
}

char *ath_screens_ask_file(struct ath_tui *tui, const char *title)
{
    return ath_dialog_input(tui, title, _("The file to write; it must not exist yet."), NULL,
                            accept, NULL);
}

static bool export_key(struct ath_tui *tui, const char *subject)
{
    ath_auto_free char *path = ath_screens_ask_file(tui, _("Export the key to a file"));

    (void)subject;
    if (path)
        ath_screens_run(tui, (const char *const[]){ "key", "--export", "--output", path, NULL });
    return false;
}

static const struct ath_menu_row key_rows[] = {
    { .label = N_("Show the key's file and fingerprint"),
      .help = N_("two machines have the same key if the fingerprints are equal"),
      .command = "aitherion key",
      .act = show_key },
    { .label = N_("Export the key to a file"),
      .help =
          N_("for another machine or user that may use the GPUs: aitherion key --import < FILE"),
      .command = "aitherion key --export --output FILE",
      .act = export_key },
    { .label = N_("Make a new key"),
      .help = N_("asks before it replaces the key; runtimes read the key when they start"),
      .command = "aitherion key --new",
      .act = make_key },
    { .label = N_("Back to the main menu"), .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_key = { .title = N_("Shared key"), .rows = key_rows };

/* ---- the image ---- */

static bool list_images(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    ath_screens_run(tui, (const char *const[]){ "image", "list", NULL });
    return false;
}

static bool build_image(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    ath_screens_run(tui, (const char *const[]){ "image", "build", NULL });
    return false;
}

static bool remove_image(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    if (ath_screens_confirm(tui, _("Remove the image of the runtime?"),
                            _("The next start in Docker builds it again."), _("Yes, remove it")))
        ath_screens_run(tui, (const char *const[]){ "image", "remove", NULL });
    return false;
}

static const struct ath_menu_row image_rows[] = {
    { .label = N_("List the images"),
      .help = N_("the images that aitherion made: names, versions and sizes"),
      .command = "aitherion image list",
      .act = list_images },
    { .label = N_("Build the image"),
      .help = N_("pack the runtime and load it into Docker; does nothing if Docker has it already"),
      .command = "aitherion image build",
      .act = build_image },
    { .label = N_("Remove the image"),
      .help = N_("remove the image that the start uses; one that a container uses stays"),
      .command = "aitherion image remove",
      .act = remove_image },
    { .label = N_("Back to the main menu"), .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_image = { .title = N_("Image of the runtime"), .rows = image_rows };
