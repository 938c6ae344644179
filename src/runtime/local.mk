# GPU remoting. It stands on base alone: aitherion-runtime links libc and libnettle, nothing else.
libaitherion_a_SOURCES += \
	src/runtime/client/health.c src/runtime/client/health.h \
	src/runtime/client/open.c src/runtime/client/open.h \
	src/runtime/client/servers.c src/runtime/client/servers.h \
	src/runtime/client/session.c src/runtime/client/session.h \
	src/runtime/client/sessions.c src/runtime/client/sessions.h \
	src/runtime/client/stripes.c src/runtime/client/stripes.h \
	src/runtime/server/answer.c src/runtime/server/answer.h \
	src/runtime/server/board.c src/runtime/server/board.h \
	src/runtime/server/calls.c src/runtime/server/calls.h \
	src/runtime/server/channel.c src/runtime/server/channel.h \
	src/runtime/server/devices.c src/runtime/server/devices.h \
	src/runtime/server/doors.c src/runtime/server/doors.h \
	src/runtime/server/driver.c src/runtime/server/driver.h \
	src/runtime/server/metrics.c src/runtime/server/metrics.h \
	src/runtime/server/peer.c src/runtime/server/peer.h \
	src/runtime/server/pools.c src/runtime/server/pools.h \
	src/runtime/server/printed.c src/runtime/server/printed.h \
	src/runtime/server/processes.c src/runtime/server/processes.h \
	src/runtime/server/quota.c src/runtime/server/quota.h \
	src/runtime/server/record.c src/runtime/server/record.h \
	src/runtime/server/server.h \
	src/runtime/server/visible.c src/runtime/server/visible.h \
	src/runtime/switches.c src/runtime/switches.h \
	src/runtime/transport/ring.c src/runtime/transport/ring.h \
	src/runtime/transport/look.h \
	src/runtime/transport/shm.c src/runtime/transport/shm.h \
	src/runtime/transport/size_limit.c src/runtime/transport/size_limit.h \
	src/runtime/transport/stream.c src/runtime/transport/stream.h \
	src/runtime/transport/tcp.c \
	src/runtime/transport/team.c src/runtime/transport/team.h \
	src/runtime/wire/builder.c src/runtime/wire/builder.h \
	src/runtime/wire/endpoint.c src/runtime/wire/endpoint.h \
	src/runtime/wire/frame.c src/runtime/wire/frame.h \
	src/runtime/wire/message.c src/runtime/wire/message.h \
	src/runtime/wire/secret.c src/runtime/wire/secret.h

bin_PROGRAMS += aitherion-runtime
aitherion_runtime_SOURCES = \
	src/runtime/server/health.c src/runtime/server/health.h \
	src/runtime/server/health_json.c \
	src/runtime/server/main.c \
	src/runtime/server/options.c src/runtime/server/options.h \
	src/runtime/server/pause.c src/runtime/server/pause.h \
	src/runtime/server/place.c src/runtime/server/place.h \
	src/runtime/server/serve.c src/runtime/server/serve.h
aitherion_runtime_LDADD = libaitherion.a $(NETTLE_LIBS) -ldl
