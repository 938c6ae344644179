/* Finding commands in sentences, and giving them the options of this run. */
#include "config.h"

#include "cli/suggest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "container/run_line.h"

#define OWN "aitherion "

/* The command that words begin with; NULL where they begin with none. */
static const struct ath_command *command_of(const char *words)
{
    const struct ath_command *command = &ath_command_root;
    ath_auto_free char *copy = ath_xstrdup(words);
    char *rest = copy;

    while (command && command->children) {
        char *word = rest ? strsep(&rest, " ,;)\n") : NULL;
        command = word ? ath_command_child(command, word) : NULL;
    }
    return command;
}

static bool reads_document(const struct ath_command *command)
{
    static const char *const others[] = { "completion", "discover", "help", "version" };
    for (size_t i = 0; i < ATH_COUNT(others); i++)
        if (!strcmp(command->name, others[i]))
            return false;
    return true;
}

static void add_option(struct ath_text *out, const char *words, const char *option,
                       const char *value)
{
    ath_auto_free char *said = ath_xasprintf(" %s ", option);
    if (!value || strstr(words, said))
        return;
    ath_text_add_bytes(out, said, strlen(said));
    ath_shell_quote(out, value);
}

/* words: of the command, with all that it says. */
static void add_options(struct ath_text *out, const struct ath_globals *globals, const char *words)
{
    const struct ath_command *command = command_of(words);

    if (!command || strstr(words, "--help"))
        return;
    if (reads_document(command))
        add_option(out, words, "-c", globals->config);
    if (!command->reads_machine)
        return;
    add_option(out, words, "--root", globals->root);
    add_option(out, words, "--topology", globals->topology);
}

/* Not in quotes, and not what another host is to run: "ssh HOST aitherion ...". */
static bool is_for_here(const char *text, const char *at)
{
    static const char host[] = "HOST ";
    size_t before = (size_t)(at - text);
    if (!ath_starts_with(at, OWN) || (before && at[-1] == '\''))
        return false;
    return before < strlen(host) || !ath_starts_with(at - strlen(host), host);
}

static void add_options_for(struct ath_text *out, const struct ath_globals *globals,
                            const char *words, const char *end)
{
    ath_auto_free char *own = ath_xasprintf("%.*s", (int)(end - words), words);
    add_options(out, globals, own);
}

char *ath_suggest_complete(const struct ath_globals *globals, const char *text)
{
    struct ath_text out = { 0 };

    if (!text)
        return NULL;
    for (const char *at = text, *own; *at; at = own) {
        bool is_command = is_for_here(text, at);
        size_t length = is_command ? strlen(OWN) - 1 : 0;
        own = strstr(at + 1, OWN);
        if (!own)
            own = at + strlen(at);
        ath_text_add_bytes(&out, at, length);
        if (is_command)
            add_options_for(&out, globals, at + strlen(OWN), own);
        ath_text_add_bytes(&out, at + length, (size_t)(own - at) - length);
    }
    return ath_text_take(&out);
}

char *ath_suggest_command(const struct ath_globals *globals, const char *command)
{
    struct ath_text out = { 0 };

    ath_text_add(&out, "%s", command);
    if (ath_starts_with(command, OWN))
        add_options(&out, globals, command + strlen(OWN));
    return ath_text_take(&out);
}
