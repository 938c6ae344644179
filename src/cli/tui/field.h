/*
 * Values of the document as fields of a screen: shown, offered from the machine, typed, checked at
 * once.
 *
 * A field is named by its list in the document, the subject (an entry of it) and its key. What is
 * allowed, and its help, come from the document's own table (config/schema.h); what is offered
 * comes from the table in field.c. Private to tui.
 */
#pragma once
#include "cli/tui/dialog.h"
#include "cli/tui/tui.h"

/* "numa.0.memory_percent"; the caller frees it. */
char *ath_field_key(const char *list, const char *subject, const char *field);

/* The value for a person: "80.0 %", "none"; the caller frees it. */
char *ath_field_shown(const struct ath_tui *tui, const char *list, const char *subject,
                      const char *field);

const char *ath_field_help(const char *list, const char *field);

/* The command that sets these fields (as many as there are before a NULL, at most 2) to what they
 * are. The caller frees it. */
char *ath_field_command(const struct ath_tui *tui, const char *list, const char *subject,
                        const char *const fields[2]);

/* Lets the person change it. False where they went back. */
bool ath_field_change(struct ath_tui *tui, const char *list, const char *subject,
                      const char *field);

/*
 * Lets the person choose or type a value that is in no document yet, such as the parent of a new
 * macvlan: as for the field, with `initial` offered. NULL: went back. The caller frees it.
 */
char *ath_field_ask(struct ath_tui *tui, const char *list, const char *field, const char *initial);

/* Sets a key and says what came of it (a warning where it does not fit the machine). True where it
 * was set; else *out_reason says why not, where out_reason is not NULL. */
bool ath_field_set(struct ath_tui *tui, const char *key, const char *value, char **out_reason);

/* The offers of a field, with what is chosen now ticked. */
void ath_field_offers(const struct ath_tui *tui, const char *list, const char *field,
                      const char *value, struct ath_choices *out);
