/* The rows that the files of this folder end in. */
#pragma once
#include "cli/command.h"

extern const struct ath_command ath_command_menu;
extern const struct ath_command ath_command_discover;
extern const struct ath_command ath_command_init;
extern const struct ath_command ath_command_configure;
extern const struct ath_command ath_command_roce;
extern const struct ath_command ath_command_roce_list;
extern const struct ath_command ath_command_roce_add;
extern const struct ath_command ath_command_roce_remove;
extern const struct ath_command ath_command_roce_bind;
extern const struct ath_command ath_command_roce_macvlan;
extern const struct ath_command ath_command_roce_test;
extern const struct ath_command ath_command_health;
extern const struct ath_command ath_command_start;
extern const struct ath_command ath_command_stop;
extern const struct ath_command ath_command_status;
extern const struct ath_command ath_command_clean;
extern const struct ath_command ath_command_run;
extern const struct ath_command ath_command_session;
extern const struct ath_command ath_command_session_list;
extern const struct ath_command ath_command_session_end;
extern const struct ath_command ath_command_session_limit;
extern const struct ath_command ath_command_key;
extern const struct ath_command ath_command_image;
extern const struct ath_command ath_command_image_build;
extern const struct ath_command ath_command_image_list;
extern const struct ath_command ath_command_image_remove;
extern const struct ath_command ath_command_help;
extern const struct ath_command ath_command_version;
extern const struct ath_command ath_command_completion;
