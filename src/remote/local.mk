# Code for both processes, the program's and the server's: the wire, the transports, the client's end of a session.
REMOTE_WIRE = \
	src/remote/switches.c src/remote/switches.h \
	src/remote/tls/certificate.c src/remote/tls/certificate.h \
	src/remote/tls/gnutls.h \
	src/remote/tls/load.c \
	src/remote/tls/policy.c src/remote/tls/policy.h \
	src/remote/tls/priorities.c src/remote/tls/priorities.h \
	src/remote/tls/socket.c src/remote/tls/socket.h \
	src/remote/tls/tls.c src/remote/tls/tls.h \
	src/remote/tls/tls_bytes.c \
	src/remote/tls/tls_handshake.c src/remote/tls/tls_internal.h \
	src/remote/wire/builder.c src/remote/wire/builder.h \
	src/remote/wire/endpoint.c src/remote/wire/endpoint.h \
	src/remote/wire/frame.c src/remote/wire/frame.h \
	src/remote/wire/message.c src/remote/wire/message.h \
	src/remote/wire/secret.c src/remote/wire/secret.h
REMOTE_TRANSPORT = \
	src/remote/transport/channels.c src/remote/transport/channels.h \
	src/remote/transport/channels_internal.h \
	src/remote/transport/channels_read.c \
	src/remote/transport/channels_write.c \
	src/remote/transport/pace.c src/remote/transport/pace.h \
	src/remote/transport/parts.c src/remote/transport/parts.h \
	src/remote/transport/pieces.c src/remote/transport/pieces.h \
	src/remote/transport/poll_briefly.h \
	src/remote/transport/ring.c src/remote/transport/ring.h \
	src/remote/transport/shm.c src/remote/transport/shm.h \
	src/remote/transport/shm_share.c src/remote/transport/shm_internal.h \
	src/remote/transport/shm_socket.c \
	src/remote/transport/size_limit.c src/remote/transport/size_limit.h \
	src/remote/transport/stream.c src/remote/transport/stream.h \
	src/remote/transport/tcp.c \
	src/remote/transport/team.c src/remote/transport/team.h
# The carrier of streams on UDP.
REMOTE_UDP = \
	src/remote/udp/batch.c src/remote/udp/batch.h \
	src/remote/udp/carrier.c src/remote/udp/carrier.h \
	src/remote/udp/carrier_channels.c \
	src/remote/udp/carrier_open.c \
	src/remote/udp/carrier_state.h \
	src/remote/udp/carrier_work.c \
	src/remote/udp/congestion.c src/remote/udp/congestion.h \
	src/remote/udp/crc32c.c src/remote/udp/crc32c.h \
	src/remote/udp/datagram.c src/remote/udp/datagram.h \
	src/remote/udp/flow.c src/remote/udp/flow.h \
	src/remote/udp/flow_loss.c \
	src/remote/udp/flow_receive.c \
	src/remote/udp/flow_send.c src/remote/udp/flow_state.h \
	src/remote/udp/path_mtu.c src/remote/udp/path_mtu.h
# For opening a session from a library that a program loads.
REMOTE_SESSION = \
	src/remote/session/data_paths.c src/remote/session/data_paths.h \
	src/remote/session/device_list.h \
	src/remote/session/open.c src/remote/session/open.h \
	src/remote/session/opening.c src/remote/session/opening.h \
	src/remote/session/recovery.c src/remote/session/recovery.h \
	src/remote/session/retry.c src/remote/session/retry.h \
	src/remote/session/servers.c src/remote/session/servers.h \
	src/remote/session/session.c src/remote/session/session.h \
	src/remote/session/stripes.c src/remote/session/stripes.h \
	src/remote/session/wishes.c src/remote/session/wishes.h

libaitherion_a_SOURCES += $(REMOTE_WIRE) $(REMOTE_TRANSPORT) $(REMOTE_UDP) $(REMOTE_SESSION) \
	src/remote/session/figures.c src/remote/session/figures.h \
	src/remote/session/health.c src/remote/session/health.h \
	src/remote/session/sessions.c src/remote/session/sessions.h \
	src/remote/session/visible_devices.c src/remote/session/visible_devices.h \
	src/remote/wire/source.c src/remote/wire/source.h

# The parts that several of the shared libraries for programs have. libaitherion.a has them as well, but without -fPIC. A library gets only
# what it needs of an archive, so those with CUDA's functions name one of these (-u).
noinst_LIBRARIES += libclient.a
libclient_a_CFLAGS = $(COMPILE_SHARED)
nodist_libclient_a_SOURCES = $(PROTO_C) proto/cuda-methods.c proto/cuda-symbols.c
$(libclient_a_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp
libclient_a_SOURCES = $(REMOTE_WIRE) $(REMOTE_TRANSPORT) $(REMOTE_UDP) $(REMOTE_SESSION) \
	src/cuda/api/export_tables.c src/cuda/api/export_tables.h \
	src/cuda/api/symbols.c src/cuda/api/symbols.h \
	src/cuda/client/allocate.c src/cuda/client/allocate.h \
	src/cuda/client/entry_points.c \
	src/cuda/client/export_table.c \
	src/cuda/client/function_proxy.c src/cuda/client/function_proxy.h \
	src/cuda/client/program_file.c \
	src/cuda/client/refuse.c \
	src/cuda/common/bytes.c src/cuda/common/bytes.h \
	src/base/alloc.c src/base/alloc.h \
	src/base/clean.c src/base/clean.h \
	src/base/err.c src/base/err.h \
	src/base/file.c src/base/file.h \
	src/base/host_budget.c src/base/host_budget.h \
	src/base/late.c src/base/late.h \
	src/base/level.c src/base/level.h \
	src/base/log.c src/base/log.h \
	src/base/map.h \
	src/base/memory_limit.c src/base/memory_limit.h \
	src/base/time_claim.c src/base/time_claim.h \
	src/base/key_name.c src/base/key_name.h \
	src/base/fingerprint.c src/base/fingerprint.h \
	src/base/text.c src/base/text.h

# The tests of flows move gigabytes through these in simulated time.
src/remote/udp/congestion.o src/remote/udp/crc32c.o src/remote/udp/datagram.o src/remote/udp/flow.o src/remote/udp/flow_loss.o src/remote/udp/flow_receive.o src/remote/udp/flow_send.o \
	tests/unit/test_udp.o: CFLAGS := $(WALKING_CFLAGS)
