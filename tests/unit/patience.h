/*
 * The longest wait of a unit test for an event that normally comes at once. It only ends tests that
 * hang, and measures no speed. If a test checks one of our own time limits, the limit is LIMIT_MS
 * and the wait may take up to PATIENCE_MS: even a busy machine keeps that, and only the limit can
 * end the wait earlier.
 */
#pragma once

enum { PATIENCE_MS = 30000, LIMIT_MS = 300 };
