/* Fitting paragraphs to a terminal's width. */
#pragma once
#include <stdio.h>

/*
 * Prints text broken at blanks, and between the double-width letters of Chinese, which has none, so
 * that no line is wider than width columns (a longer word stands alone). Every line but the first
 * begins with indent blanks; the cursor is taken to stand at column `column`. Empty lines part
 * paragraphs and are kept; a line that begins with two blanks is printed as it is. Ends in a
 * newline.
 */
void ath_wrap(FILE *out, const char *text, int column, int indent, int width);
