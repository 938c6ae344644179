# NVML's calls, as CUDA's: the server's side is in libaitherion.a, the client's a library of its own beside libcuda.so.1.
libaitherion_a_SOURCES += \
	src/nvml/api/nvml_functions.h \
	src/nvml/api/nvml_types.h \
	src/nvml/server/server.c src/nvml/server/server.h \
	src/nvml/server/by_hand.c \
	src/nvml/api/table.h
NVML_SERVER_PROTO_C = proto/nvml-functions.c proto/nvml-server.c

driver_PROGRAMS += lib/aitherion/libnvidia-ml.so.1
NVML_CLIENT_SOURCES = \
	src/nvml/api/nvml_functions.h \
	src/nvml/api/nvml_types.h \
	src/nvml/api/table.h \
	src/nvml/api/words.c \
	src/nvml/client/by_hand.c \
	src/nvml/client/call_table.c \
	src/nvml/client/client.c src/nvml/client/client.h \
	src/nvml/client/kept_answers.c src/nvml/client/kept_answers.h \
	src/nvml/client/question.c src/nvml/client/question.h \
	src/nvml/client/several.c
lib_aitherion_libnvidia_ml_so_1_SOURCES = $(NVML_CLIENT_SOURCES)
nodist_lib_aitherion_libnvidia_ml_so_1_SOURCES = proto/nvml-client.c
lib_aitherion_libnvidia_ml_so_1_CFLAGS = $(COMPILE_SHARED)
lib_aitherion_libnvidia_ml_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-soname,libnvidia-ml.so.1 -Wl,--version-script=proto/nvml.map
lib_aitherion_libnvidia_ml_so_1_LDADD = $(LIBCLIENT)
lib_aitherion_libnvidia_ml_so_1_DEPENDENCIES = libclient.a libaitherion.a proto/nvml.map
$(lib_aitherion_libnvidia_ml_so_1_OBJECTS): | proto/generated.stamp proto/nvml-generated.stamp

# The same for programs with the GPUs in their own process: it asks the runtime that keeps their books.
localdriver_PROGRAMS += lib/aitherion/local/libnvidia-ml.so.1
lib_aitherion_local_libnvidia_ml_so_1_SOURCES = $(NVML_CLIENT_SOURCES)
nodist_lib_aitherion_local_libnvidia_ml_so_1_SOURCES = $(nodist_lib_aitherion_libnvidia_ml_so_1_SOURCES)
lib_aitherion_local_libnvidia_ml_so_1_CPPFLAGS = $(AM_CPPFLAGS) -DATH_NVML_OF_LOCAL
lib_aitherion_local_libnvidia_ml_so_1_CFLAGS = $(COMPILE_SHARED)
lib_aitherion_local_libnvidia_ml_so_1_LDFLAGS = $(lib_aitherion_libnvidia_ml_so_1_LDFLAGS)
lib_aitherion_local_libnvidia_ml_so_1_LDADD = $(lib_aitherion_libnvidia_ml_so_1_LDADD)
lib_aitherion_local_libnvidia_ml_so_1_DEPENDENCIES = $(lib_aitherion_libnvidia_ml_so_1_DEPENDENCIES)
$(lib_aitherion_local_libnvidia_ml_so_1_OBJECTS): | proto/generated.stamp proto/nvml-generated.stamp
