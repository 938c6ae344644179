/* Parts of the completion scripts of all shells. Private to completion*.c. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/completion.h"

/* path: the command's path, "roce test". */
typedef void ath_completion_visit(FILE *out, const char *path, const struct ath_option *option);

/* Visits the options of one table, which may be NULL. */
void ath_completion_each_of(FILE *out, const char *path, const struct ath_option *options,
                            ath_completion_visit *visit);

/* Visits all options that a command takes. */
void ath_completion_each_option(FILE *out, const struct ath_command *command, const char *path,
                                ath_completion_visit *visit);

/* Visits the options that mean the same for every command that takes them. They are visited with
 * path NULL. */
void ath_completion_each_shared_option(FILE *out, ath_completion_visit *visit);

/* Print words, or the names of a command's commands, with blanks between them. */
void ath_completion_words(FILE *out, const char *const *words);
void ath_completion_children(FILE *out, const struct ath_command *command);

/* Prints "|--name" or the like for options whose next word is a value; such a word is not a
 * command. An option of one name takes a value in all commands or in none (see parse.c). */
void ath_completion_value_option(FILE *out, const struct ath_option *option, const char *before);

/* Returns whether the first argument is a program, after which all words belong to it. */
bool ath_completion_takes_program(const struct ath_command *command);

/* Print the script of one shell. */
void ath_completion_bash(FILE *out);
void ath_completion_zsh(FILE *out);
void ath_completion_fish(FILE *out);
