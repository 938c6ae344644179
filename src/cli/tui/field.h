/*
 * Values of the document as fields of a screen: shown, chosen from what the machine offers, typed,
 * and checked at once.
 *
 * A field is named by its list in the document, the subject (an entry of the list) and its key. A
 * key of the document itself, such as "limits.host_fraction", has the list "" and the subject "".
 * The document's own table (config/schema.h) says what is allowed and has the help; the table in
 * field_table.c says what is offered. Private to tui.
 */
#pragma once
#include "cli/tui/dialog.h"
#include "cli/tui/tui.h"

enum { ATH_FIELDS_MOST = 3 }; /* of one row */

/* Returns "numa.0.memory_percent", "encrypt". The caller frees it. */
char *ath_field_key(const char *list, const char *subject, const char *field);

/* Returns the value as shown to the user: "80.0 %", "none". The caller frees it. */
char *ath_field_shown(const struct ath_tui *tui, const char *list, const char *subject,
                      const char *field);

const char *ath_field_help(const char *list, const char *field);

/* Returns the command that sets these fields (fewer than the most end with NULL) to their values.
 * The caller frees it. */
char *ath_field_command(const struct ath_tui *tui, const char *list, const char *subject,
                        const char *const fields[ATH_FIELDS_MOST]);

/* Lets the user change the field. Returns false if the user goes back. */
bool ath_field_change(struct ath_tui *tui, const char *list, const char *subject,
                      const char *field);

/*
 * Lets the user choose or type a value that is not in the document yet, such as the parent of a new
 * macvlan. `initial` is offered. Returns NULL if the user goes back. The caller frees it.
 */
char *ath_field_ask(struct ath_tui *tui, const char *list, const char *field, const char *initial);

/* Sets a key and shows the result, with a warning if it does not fit the machine. Returns true if
 * the key was set; else shows the error, or stores it in *out_reason (not NULL). */
bool ath_field_set(struct ath_tui *tui, const char *key, const char *value, char **out_reason);

/* Lists what can be chosen for a field, with the current value ticked. The caller releases *out. */
void ath_field_offers(const struct ath_tui *tui, const char *list, const char *field,
                      const char *value, struct ath_choices *out);
