# GPU remoting. It stands on base alone: aitherion-runtime links libc and libnettle, nothing else.
libaitherion_a_SOURCES += \
	src/runtime/client/health.c src/runtime/client/health.h \
	src/runtime/client/session.c src/runtime/client/session.h \
	src/runtime/server/answer.c src/runtime/server/answer.h \
	src/runtime/server/board.c src/runtime/server/board.h \
	src/runtime/server/devices.c src/runtime/server/devices.h \
	src/runtime/server/metrics.c src/runtime/server/metrics.h \
	src/runtime/server/peer.c src/runtime/server/peer.h \
	src/runtime/server/record.c src/runtime/server/record.h \
	src/runtime/server/server.h \
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
