# Video decoders and encoders are not served: libraries that say so lie beside libcuda.so.1, ahead of this machine's own.
driver_PROGRAMS += lib/aitherion/libnvcuvid.so.1 lib/aitherion/libnvidia-encode.so.1
lib_aitherion_libnvcuvid_so_1_SOURCES = src/video/none.c
lib_aitherion_libnvcuvid_so_1_CFLAGS = $(COMPILE_SHARED)
lib_aitherion_libnvcuvid_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-z,undefs -Wl,-soname,libnvcuvid.so.1
lib_aitherion_libnvcuvid_so_1_LDADD =
lib_aitherion_libnvidia_encode_so_1_SOURCES = src/video/none.c
lib_aitherion_libnvidia_encode_so_1_CFLAGS = $(COMPILE_SHARED)
lib_aitherion_libnvidia_encode_so_1_LDFLAGS = $(LINK_SHARED) -Wl,-z,undefs -Wl,-soname,libnvidia-encode.so.1
lib_aitherion_libnvidia_encode_so_1_LDADD =
