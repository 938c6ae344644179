# Code for both processes, the program's and the server's: the wire, the transports, the client's end of a session.
libaitherion_a_SOURCES += \
	src/remote/switches.c src/remote/switches.h \
	src/remote/udp_figures.c src/remote/udp_figures.h \
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
libaitherion_a_SOURCES += \
	src/remote/transport/channels.c src/remote/transport/channels.h \
	src/remote/transport/channels_internal.h \
	src/remote/transport/channels_read.c \
	src/remote/transport/channels_write.c \
	src/remote/transport/line_loss.c src/remote/transport/line_loss.h \
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
	src/remote/transport/stripe_state.c \
	src/remote/transport/tcp.c \
	src/remote/transport/team.c src/remote/transport/team.h
# The carrier of streams on UDP.
libaitherion_a_SOURCES += \
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
libaitherion_a_SOURCES += \
	src/remote/session/data_paths.c src/remote/session/data_paths.h \
	src/remote/session/device_list.h \
	src/remote/session/open.c src/remote/session/open.h \
	src/remote/session/opening.c src/remote/session/opening.h \
	src/remote/session/paths.c src/remote/session/paths.h \
	src/remote/session/program_channel.c src/remote/session/program_channel.h \
	src/remote/session/recovery.c src/remote/session/recovery.h \
	src/remote/session/retry.c src/remote/session/retry.h \
	src/remote/session/servers.c src/remote/session/servers.h \
	src/remote/session/session.c src/remote/session/session.h \
	src/remote/session/stripes.c src/remote/session/stripes.h \
	src/remote/session/wishes.c src/remote/session/wishes.h

# For the server, and for the command line tool.
libaitherion_a_SOURCES += \
	src/remote/net_test/lanes.c src/remote/net_test/lanes.h \
	src/remote/net_test/limit.c src/remote/net_test/limit.h \
	src/remote/net_test/net_test.c src/remote/net_test/net_test.h \
	src/remote/net_test/talk.c src/remote/net_test/talk.h \
	src/remote/session/figures.c src/remote/session/figures.h \
	src/remote/session/health.c src/remote/session/health.h \
	src/remote/session/sessions.c src/remote/session/sessions.h \
	src/remote/session/visible_devices.c src/remote/session/visible_devices.h \
	src/remote/wire/source.c src/remote/wire/source.h

# The client's parts that several of the shared libraries for programs have. A library gets only what it needs of an archive, so those with
# CUDA's functions name one of these (-u).
noinst_LIBRARIES += libclient.a
libclient_a_CFLAGS = $(COMPILE_SHARED)
nodist_libclient_a_SOURCES = proto/cuda-symbols.c
$(libclient_a_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp
LIBCLIENT = libclient.a libaitherion.a $(NETTLE_LIBS) -ldl -lpthread
libclient_a_SOURCES = \
	src/cuda/api/export_tables.c src/cuda/api/export_tables.h \
	src/cuda/api/symbols.c src/cuda/api/symbols.h \
	src/cuda/client/allocate.c src/cuda/client/allocate.h \
	src/cuda/client/entry_points.c \
	src/cuda/client/export_table.c \
	src/cuda/client/function_proxy.c src/cuda/client/function_proxy.h \
	src/cuda/client/program_file.c \
	src/cuda/client/refuse.c

# The tests of flows move gigabytes through these in simulated time.
src/remote/udp/libaitherion_a-congestion.o src/remote/udp/libaitherion_a-crc32c.o src/remote/udp/libaitherion_a-datagram.o src/remote/udp/libaitherion_a-flow.o src/remote/udp/libaitherion_a-flow_loss.o src/remote/udp/libaitherion_a-flow_receive.o src/remote/udp/libaitherion_a-flow_send.o \
	tests/unit/test_udp.o: CFLAGS := $(WALKING_CFLAGS)
