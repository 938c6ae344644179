/* Wrapping paragraphs to a terminal's width. */
#pragma once
#include <stdio.h>

/*
 * Prints text in lines of at most width columns. Lines are broken at blanks, and between
 * double-width characters, since Chinese has no blanks. A longer word gets a line of its own. Every
 * line except the first begins with indent blanks; the first one begins at column `column`. Empty
 * lines separate paragraphs and are kept. A line that begins with two blanks is printed unchanged.
 * The output ends in a newline.
 */
void ath_wrap(FILE *out, const char *text, int column, int indent, int width);
