/* Finding commands in sentences, and adding the options of this run. */
#include "config.h"

#include "cli/suggest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "container/docker/run_line.h"

#define OWN "aitherion "

/* Returns the command that words begin with, or NULL. After its last word any punctuation may
 * follow, in Chinese too. A command with children may run itself: `key --export`. */
static const struct ath_command *command_of(const char *words)
{
    const struct ath_command *command = &ath_command_root;

    while (command && command->children) {
        size_t length = strspn(words, "abcdefghijklmnopqrstuvwxyz-");
        ath_auto_free char *word = ath_xasprintf("%.*s", (int)length, words);
        const struct ath_command *child = ath_command_child(command, word);
        if (!child)
            return command->run ? command : NULL;
        command = child;
        words += length;
        words += strspn(words, " \n");
    }
    return command;
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

/* Devices of another machine do not belong in this machine's document: the user names one for
 * them. */
static bool needs_own_document(const struct ath_command *command, const struct ath_globals *globals,
                               const char *words)
{
    return command->writes_document && !strstr(words, "--show") &&
           (globals->root || globals->topology);
}

/* words: the command and all its arguments. */
static void add_options(struct ath_text *out, const struct ath_globals *globals, const char *words)
{
    const struct ath_command *command = command_of(words);

    if (!command || strstr(words, "--help"))
        return;
    const char *document = globals->config                               ? globals->config
                           : needs_own_document(command, globals, words) ? "FILE"
                                                                         : NULL;
    if (!command->ignores_document)
        add_option(out, words, "-c", document);
    if (!command->reads_machine)
        return;
    add_option(out, words, "--root", globals->root);
    add_option(out, words, "--topology", globals->topology);
}

/* Returns false for a command in quotes and for one that another host runs: "ssh HOST aitherion
 * ...". */
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
