# The program aitherion-runtime. It links libc, libnettle, libseccomp and libyaml, nothing else.
# Also in the library for programs that have the driver in their own process (src/cuda/local).
libaitherion_a_SOURCES += \
	src/runtime/quota/allocations.c \
	src/runtime/quota/arrays.c \
	src/runtime/quota/books.h \
	src/runtime/quota/context_memory.c src/runtime/quota/context_memory.h \
	src/runtime/quota/contexts.c \
	src/runtime/quota/graphs.c src/runtime/quota/graphs.h \
	src/runtime/quota/image.c src/runtime/quota/image.h \
	src/runtime/quota/info.c \
	src/runtime/quota/kernels.c src/runtime/quota/kernels.h \
	src/runtime/quota/ledger.c src/runtime/quota/ledger.h \
	src/runtime/quota/measure.c src/runtime/quota/measure.h \
	src/runtime/quota/modules.c \
	src/runtime/quota/pool_usage.c src/runtime/quota/pool_usage.h \
	src/runtime/quota/pools.c \
	src/runtime/quota/quota.c src/runtime/quota/quota.h \
	src/runtime/quota/room.c src/runtime/quota/room.h \
	src/runtime/quota/session_quota.c src/runtime/quota/session_quota.h \
	src/runtime/quota/shared.c \
	src/runtime/quota/virtual.c \
	src/runtime/quota/wrappers.h \
	src/runtime/part/order.c src/runtime/part/order.h \
	src/runtime/part/part.c src/runtime/part/part.h \
	src/runtime/part/state.h \
	src/runtime/part/wrappers.c
# The server's alone.
libaitherion_a_SOURCES += \
	src/runtime/access.c src/runtime/access.h \
	src/runtime/arbiter.c src/runtime/arbiter.h \
	src/runtime/attempts.c src/runtime/attempts.h \
	src/runtime/claims.c src/runtime/claims.h \
	src/runtime/board_books.c src/runtime/board_books.h \
	src/runtime/clients.c src/runtime/clients.h \
	src/runtime/control_answer.c src/runtime/control_answer.h \
	src/runtime/control_answer_changes.c \
	src/runtime/control_answer_parts.h \
	src/runtime/control_answer_sessions.c \
	src/runtime/datagrams.c src/runtime/datagrams.h \
	src/runtime/devices.c src/runtime/devices.h \
	src/runtime/driver_library.c src/runtime/driver_library.h \
	src/runtime/encryption.c src/runtime/encryption.h \
	src/runtime/event_log.c src/runtime/event_log.h \
	src/runtime/fd_passing.c src/runtime/fd_passing.h \
	src/runtime/figures.c src/runtime/figures.h \
	src/runtime/first_message.c src/runtime/first_message.h \
	src/runtime/gpu_log.c src/runtime/gpu_log.h \
	src/runtime/gpu_sampler.c src/runtime/gpu_sampler.h \
	src/runtime/gpu_sampler_figures.c \
	src/runtime/gpu_sampler_health.c \
	src/runtime/gpu_sampler_sessions.c \
	src/runtime/gpu_sampler_state.h \
	src/runtime/helper.c src/runtime/helper.h \
	src/runtime/host_limits.c src/runtime/host_limits.h \
	src/runtime/identities.c src/runtime/identities.h \
	src/runtime/joins.c src/runtime/joins.h \
	src/runtime/listen_address.c src/runtime/listen_address.h \
	src/runtime/data_listen.c src/runtime/data_listen.h \
	src/runtime/listener.c src/runtime/listener.h \
	src/runtime/local_session.c src/runtime/local_session.h \
	src/runtime/local_turns.c src/runtime/local_turns.h \
	src/runtime/part_table.c src/runtime/part_table.h \
	src/runtime/lock_in.c src/runtime/lock_in.h \
	src/runtime/memory_limits.c src/runtime/memory_limits.h \
	src/runtime/memory_room.c src/runtime/memory_room.h \
	src/runtime/metrics.c src/runtime/metrics.h \
	src/runtime/net_test_session.c \
	src/runtime/newcomers.c src/runtime/newcomers.h \
	src/runtime/process_table.c src/runtime/process_table.h \
	src/runtime/program_session.c src/runtime/program_session.h \
	src/runtime/program_session_answer.c \
	src/runtime/program_session_driver.c \
	src/runtime/program_session_end.c \
	src/runtime/program_session_request.c \
	src/runtime/program_session_state.h \
	src/runtime/program_stripes.c src/runtime/program_stripes.h \
	src/runtime/refusal_log.c src/runtime/refusal_log.h \
	src/runtime/reports.c src/runtime/reports.h \
	src/runtime/sampler.c src/runtime/sampler.h \
	src/runtime/samples.c src/runtime/samples.h \
	src/runtime/sandbox/file_access.c src/runtime/sandbox/file_access.h \
	src/runtime/sandbox/sandbox.c src/runtime/sandbox/sandbox.h \
	src/runtime/sandbox/system_calls.c src/runtime/sandbox/system_calls.h \
	src/runtime/sandbox/users.c src/runtime/sandbox/users.h \
	src/runtime/sandbox/view.c src/runtime/sandbox/view.h \
	src/runtime/server.h \
	src/runtime/server_keys.c src/runtime/server_keys.h \
	src/runtime/session.c src/runtime/session.h \
	src/runtime/session_board.c src/runtime/session_board_pages.c src/runtime/session_board.h \
	src/runtime/session_handshake.c \
	src/runtime/session_messages.c \
	src/runtime/session_report.c src/runtime/session_report.h \
	src/runtime/session_request.c src/runtime/session_request.h \
	src/runtime/session_state.h \
	src/runtime/session_tls.c \
	src/runtime/session_turns.c src/runtime/session_turns.h \
	src/runtime/share_request.c src/runtime/share_request.h \
	src/runtime/share_table.c src/runtime/share_table.h \
	src/runtime/trial.c src/runtime/trial.h \
	src/runtime/turns_page.c src/runtime/turns_page.h \
	src/runtime/udp_counts.h \
	src/runtime/unused.c src/runtime/unused.h \
	src/runtime/waiting_room.c src/runtime/waiting_room.h

bin_PROGRAMS += aitherion-runtime
aitherion_runtime_SOURCES = \
	src/runtime/health.c src/runtime/health.h \
	src/runtime/health_json.c \
	src/runtime/main.c \
	src/runtime/options.c src/runtime/options.h \
	src/runtime/pause.c src/runtime/pause.h \
	src/runtime/serve.c src/runtime/serve.h \
	src/runtime/server.c
aitherion_runtime_LDADD = libaitherion.a $(NETTLE_LIBS) $(SECCOMP_LIBS) $(YAML_LIBS) -ldl
