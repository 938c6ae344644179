/*
 * The figures that `discover --measure` measured: where they are kept, and who uses them.
 *
 * The file measured.json is beside the topology document. A user who may not write there keeps it
 * in the own folder ($XDG_CONFIG_HOME/aitherion, else ~/.config/aitherion). The first that exists
 * is read: beside the document, in the own folder, in /etc/aitherion.
 */
#pragma once
#include "cli/cli.h"

/* Gives this machine its measured figures, in place of earlier ones. A file that does not fit is a
 * warning of the machine, and so are copies that are much slower than their links. */
void ath_measured_apply(const struct ath_cli *cli, struct ath_machine *machine);

/* A number that changes when the file is written: its time in nanoseconds; 0 if there is no
 * file. */
int64_t ath_measured_stamp(const struct ath_cli *cli);

/* Says on standard error that measured figures are not used, and why, for a command that does not
 * show the machine's warnings. */
void ath_measured_note(const struct ath_machine *machine);

/*
 * Measures this machine, gives it the figures, and keeps them. In a dry run it only says where they
 * would be kept. Returns 0 or a negative errno with err.
 */
int ath_measured_make(const struct ath_cli *cli, struct ath_machine *machine, struct ath_err *err);
