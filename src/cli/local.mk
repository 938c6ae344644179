aitherion_SOURCES = src/cli/main.c
aitherion_LDADD = $(LIBAITHERION)
# TOOL_LDFLAGS: what ./check adds (make TOOL_LDFLAGS=...).
aitherion_LDFLAGS = $(AM_LDFLAGS) $(TOOL_LDFLAGS)

libadmin_a_SOURCES += \
	src/cli/candidates.c src/cli/candidates.h \
	src/cli/cli.c src/cli/cli.h \
	src/cli/clusters.c src/cli/clusters.h \
	src/cli/command.c src/cli/command.h \
	src/cli/commands.c \
	src/cli/commands/commands.h \
	src/cli/commands/clean.c \
	src/cli/commands/cluster.c \
	src/cli/commands/cluster_estimate.c \
	src/cli/commands/cluster_measure.c \
	src/cli/commands/cluster_place.c \
	src/cli/commands/cluster_show.c \
	src/cli/commands/complete.c \
	src/cli/commands/completion.c \
	src/cli/commands/configure.c \
	src/cli/commands/configure_misfit.c src/cli/commands/configure_misfit.h \
	src/cli/commands/discover.c \
	src/cli/commands/health.c \
	src/cli/commands/help.c \
	src/cli/commands/image.c \
	src/cli/commands/image_build.c \
	src/cli/commands/image_docker.c src/cli/commands/image_docker.h \
	src/cli/commands/image_list.c \
	src/cli/commands/image_remove.c \
	src/cli/commands/init.c \
	src/cli/commands/key.c \
	src/cli/commands/kubernetes.c \
	src/cli/commands/kubernetes_agent.c \
	src/cli/commands/kubernetes_manifests.c \
	src/cli/commands/kubernetes_scheduler.c \
	src/cli/commands/kubernetes_webhook.c \
	src/cli/commands/logs.c \
	src/cli/commands/menu.c \
	src/cli/commands/metrics.c \
	src/cli/commands/estimate.c \
	src/cli/commands/export.c \
	src/cli/commands/fingerprint.c \
	src/cli/commands/net.c \
	src/cli/commands/net_test.c \
	src/cli/commands/place.c \
	src/cli/commands/restart.c \
	src/cli/commands/roce.c \
	src/cli/commands/roce_add.c \
	src/cli/commands/roce_bind.c \
	src/cli/commands/roce_list.c \
	src/cli/commands/roce_macvlan.c src/cli/commands/roce_macvlan_work.h \
	src/cli/commands/roce_macvlan_document.c \
	src/cli/commands/roce_macvlan_kernel.c \
	src/cli/commands/roce_macvlan_parents.c \
	src/cli/commands/roce_macvlan_result.c \
	src/cli/commands/roce_notes.c src/cli/commands/roce_notes.h \
	src/cli/commands/roce_remove.c \
	src/cli/commands/roce_test.c \
	src/cli/commands/run.c \
	src/cli/commands/run_docker.c src/cli/commands/run_docker.h \
	src/cli/commands/run_local.c src/cli/commands/run_local.h \
	src/cli/commands/run_gpus.c src/cli/commands/run_gpus.h \
	src/cli/commands/run_prepare.c src/cli/commands/run_servers.c src/cli/commands/run_work.h \
	src/cli/commands/key_add.c \
	src/cli/commands/key_list.c \
	src/cli/commands/key_place.c src/cli/commands/key_place.h \
	src/cli/commands/key_remove.c \
	src/cli/commands/session.c \
	src/cli/commands/session_end.c \
	src/cli/commands/session_id.c src/cli/commands/session_id.h \
	src/cli/commands/session_limit.c \
	src/cli/commands/session_list.c \
	src/cli/commands/start.c src/cli/commands/start.h \
	src/cli/commands/start_foresee.c \
	src/cli/commands/start_needs.c \
	src/cli/commands/start_plan.c \
	src/cli/commands/start_work.h \
	src/cli/commands/status.c \
	src/cli/commands/stop.c \
	src/cli/commands/top.c \
	src/cli/commands/version.c \
	src/cli/completion.c src/cli/completion.h src/cli/completion_parts.h \
	src/cli/completion_bash.c \
	src/cli/completion_fish.c \
	src/cli/completion_zsh.c \
	src/cli/edit.c src/cli/edit.h \
	src/cli/ending.c src/cli/ending.h \
	src/cli/facts.c src/cli/facts.h \
	src/cli/kubernetes.c src/cli/kubernetes.h \
	src/cli/measured.c src/cli/measured.h \
	src/cli/help.c src/cli/help.h \
	src/cli/help_json.c src/cli/help_json.h \
	src/cli/output/bar.c src/cli/output/bar.h \
	src/cli/host_metrics.c src/cli/host_metrics.h \
	src/cli/page_host.c src/cli/page_host.h \
	src/cli/identities.c src/cli/identities.h \
	src/cli/claim_options.c src/cli/claim_options.h \
	src/cli/key_flags.c src/cli/key_flags.h \
	src/cli/output/cluster_measure.c src/cli/output/cluster_measure.h \
	src/cli/output/cluster_place.c src/cli/output/cluster_place.h \
	src/cli/output/cluster_show.c src/cli/output/cluster_show.h \
	src/cli/output/change.c src/cli/output/change.h \
	src/cli/output/machine/distances.c src/cli/output/machine/distances.h \
	src/cli/output/fields.c src/cli/output/fields.h \
	src/cli/output/document.c src/cli/output/document.h \
	src/cli/output/ending.c src/cli/output/ending.h \
	src/cli/output/health.c src/cli/output/health.h \
	src/cli/output/health_nodes.c src/cli/output/health_nodes.h \
	src/cli/output/image.c src/cli/output/image.h \
	src/cli/output/logs.c src/cli/output/logs.h \
	src/cli/output/metrics.c src/cli/output/metrics.h \
	src/cli/output/init.c src/cli/output/init.h \
	src/cli/output/json.c src/cli/output/json.h \
	src/cli/output/json_yaml.c src/cli/output/json_yaml.h \
	src/cli/output/key.c src/cli/output/key.h \
	src/cli/output/machine/machine.c src/cli/output/machine/machine.h \
	src/cli/output/machine/dot.c \
	src/cli/output/machine/json.c \
	src/cli/output/machine/marks.c src/cli/output/machine/marks.h \
	src/cli/output/machine/matrix.c \
	src/cli/output/machine/placed.c src/cli/output/machine/placed.h \
	src/cli/output/machine/svg.c \
	src/cli/output/machine/text.c \
	src/cli/output/machine/outline.c src/cli/output/machine/outline.h \
	src/cli/output/net_test.c src/cli/output/net_test.h \
	src/cli/output/output.c src/cli/output/output.h \
	src/cli/output/equivalent.c src/cli/output/equivalent.h \
	src/cli/output/estimate.c src/cli/output/estimate.h \
	src/cli/output/export.c src/cli/output/export.h \
	src/cli/output/fingerprint.c src/cli/output/fingerprint.h \
	src/cli/output/fingerprint_parts.c src/cli/output/fingerprint_parts.h \
	src/cli/output/fingerprint_text.c \
	src/cli/output/gpu_health.c src/cli/output/gpu_health.h \
	src/cli/output/gpu_figures.c src/cli/output/gpu_figures.h \
	src/cli/output/gpu_rates.c src/cli/output/gpu_rates.h \
	src/cli/gpu_names.c src/cli/gpu_names.h \
	src/cli/output/place.c src/cli/output/place.h \
	src/cli/output/place_words.c src/cli/output/place_words.h \
	src/cli/output/roce_list.c src/cli/output/roce_list.h \
	src/cli/output/roce_list_sections.c src/cli/output/roce_list_sections.h \
	src/cli/output/roce_list_text.c \
	src/cli/output/roce_macvlan.c src/cli/output/roce_macvlan.h \
	src/cli/output/roce_test.c src/cli/output/roce_test.h \
	src/cli/output/run.c src/cli/output/run.h \
	src/cli/output/session.c src/cli/output/session.h \
	src/cli/output/session_change.c src/cli/output/session_change.h \
	src/cli/output/session_paths.c src/cli/output/session_paths.h \
	src/cli/output/session_words.c src/cli/output/session_words.h \
	src/cli/output/start.c src/cli/output/start.h \
	src/cli/output/start_plan.c src/cli/output/start_plan.h \
	src/cli/output/start_plan_parts.h \
	src/cli/output/start_plan_text.c \
	src/cli/output/status.c src/cli/output/status.h \
	src/cli/output/stop.c \
	src/cli/output/style.c src/cli/output/style.h \
	src/cli/output/table.c src/cli/output/table.h \
	src/cli/output/machine/svg_writer.c src/cli/output/machine/svg_writer.h \
	src/cli/output/machine/svg_distances.c src/cli/output/machine/svg_distances.h \
	src/cli/output/machine/svg_layout.c src/cli/output/machine/svg_layout.h \
	src/cli/output/machine/svg_legend.c src/cli/output/machine/svg_legend.h \
	src/cli/output/machine/svg_marks.c src/cli/output/machine/svg_marks.h \
	src/cli/output/machine/svg_links.c src/cli/output/machine/svg_links.h \
	src/cli/output/machine/svg_scene.c src/cli/output/machine/svg_scene.h \
	src/cli/output/machine/text_devices.c src/cli/output/machine/text_devices.h \
	src/cli/output/top.c src/cli/output/top.h \
	src/cli/output/words.c src/cli/output/words.h \
	src/cli/nodes.c src/cli/nodes.h \
	src/cli/nodes_health.c \
	src/cli/parse.c src/cli/parse.h \
	src/cli/placing.c src/cli/placing.h \
	src/cli/probe.c \
	src/cli/program.c src/cli/program.h \
	src/cli/reach.c src/cli/reach.h \
	src/cli/repeat.c src/cli/repeat.h \
	src/cli/save.c src/cli/save.h \
	src/cli/server_gpus.c src/cli/server_gpus.h \
	src/cli/share.c src/cli/share.h \
	src/cli/report.c src/cli/report.h \
	src/cli/suggest.c src/cli/suggest.h \
	src/cli/terminal.c src/cli/terminal.h \
	src/cli/top/columns.c src/cli/top/columns.h \
	src/cli/top/host_counts.c src/cli/top/host_counts.h \
	src/cli/top/history.c src/cli/top/history.h \
	src/cli/top/model.c src/cli/top/model.h \
	src/cli/top/model_sessions.c src/cli/top/model_sessions.h \
	src/cli/top/order.c src/cli/top/order.h \
	src/cli/top/rate.c src/cli/top/rate.h \
	src/cli/top/watcher.c src/cli/top/watcher.h \
	src/cli/top/short.c src/cli/top/short.h \
	src/cli/top/slots.c src/cli/top/slots.h \
	src/cli/top/spark.c src/cli/top/spark.h \
	src/cli/tui/columns.c src/cli/tui/columns.h \
	src/cli/tui/curses.c src/cli/tui/curses.h \
	src/cli/tui/cursor.c src/cli/tui/cursor.h \
	src/cli/tui/dialog.c src/cli/tui/dialog.h \
	src/cli/tui/field.c src/cli/tui/field.h \
	src/cli/tui/field_ask.c \
	src/cli/tui/field_command.c \
	src/cli/tui/field_parts.h \
	src/cli/tui/field_table.c \
	src/cli/tui/keys.c src/cli/tui/keys.h \
	src/cli/tui/lines.c src/cli/tui/lines.h \
	src/cli/tui/menu.c src/cli/tui/menu.h \
	src/cli/tui/look.c src/cli/tui/look.h \
	src/cli/tui/page.c src/cli/tui/page.h \
	src/cli/tui/pane.c src/cli/tui/pane.h \
	src/cli/tui/screen_faults.c \
	src/cli/tui/screen_place.c \
	src/cli/tui/screen_macvlan.c \
	src/cli/tui/screen_main.c \
	src/cli/tui/screen_numa.c \
	src/cli/tui/screen_roce.c \
	src/cli/tui/screen_access.c \
	src/cli/tui/screen_commands.c \
	src/cli/tui/screen_status.c \
	src/cli/tui/screens.c src/cli/tui/screens.h \
	src/cli/tui/search.c src/cli/tui/search.h \
	src/cli/tui/store.c src/cli/tui/store.h \
	src/cli/tui/terminal.c src/cli/tui/terminal.h \
	src/cli/tui/terminal_draw.c \
	src/cli/tui/terminal_program.c \
	src/cli/tui/terminal_state.h \
	src/cli/tui/top.h src/cli/tui/top_canvas.c src/cli/tui/top_canvas.h \
	src/cli/tui/top_draw.c src/cli/tui/top_gpus.c src/cli/tui/top_orders.c src/cli/tui/top_screen.c src/cli/tui/top_sessions.c \
	src/cli/tui/tui.c src/cli/tui/tui.h \
	src/cli/watch.c src/cli/watch.h \
	src/cli/wrap.c src/cli/wrap.h
