# The libcuda.so.1 of programs that have the driver in their own process (`aitherion run --local`).
localdriverdir = $(pkglibdir)/local
localdriver_PROGRAMS = lib/aitherion/local/libcuda.so.1
# The turns, the quota and the parts are the server's, from libaitherion.a.
lib_aitherion_local_libcuda_so_1_SOURCES = \
	src/cuda/local/call_counts.c src/cuda/local/call_counts.h \
	src/cuda/local/connection.c src/cuda/local/connection.h \
	src/cuda/local/driver.c \
	src/cuda/local/entry_points.c \
	src/cuda/local/local.h \
	src/cuda/local/remote_books.c src/cuda/local/remote_books.h \
	src/cuda/local/session.c
nodist_lib_aitherion_local_libcuda_so_1_SOURCES = proto/cuda-local.c
lib_aitherion_local_libcuda_so_1_CFLAGS = $(COMPILE_SHARED)
lib_aitherion_local_libcuda_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-soname,libcuda.so.1 \
	-Wl,--version-script=proto/cuda-several.map
lib_aitherion_local_libcuda_so_1_LDADD = $(LIBCLIENT)
lib_aitherion_local_libcuda_so_1_DEPENDENCIES = libclient.a libaitherion.a proto/cuda-several.map
$(lib_aitherion_local_libcuda_so_1_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp proto/cuda-quota.stamp
