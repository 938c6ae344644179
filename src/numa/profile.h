/* Machines that we know by name. */
#pragma once

/*
 * The profile's name ("ac922") that a machine's model or the device tree's `compatible` points to,
 * else "generic". Either may be NULL. Static text.
 */
const char *ath_profile_of(const char *model, const char *compatible);
