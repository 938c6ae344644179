/*
 * How long the unit tests wait for what comes at once or never: against what hangs, and no measure
 * of speed. Where a limit of our own is what is tested, it is LIMIT_MS, and the bound on what was
 * seen PATIENCE_MS: a machine that is busy keeps that too, and nothing but the limit ends the wait
 * before.
 */
#pragma once

enum { PATIENCE_MS = 30000, LIMIT_MS = 300 };
