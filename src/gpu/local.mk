libaitherion_a_SOURCES += \
	src/gpu/health.c src/gpu/health.h \
	src/gpu/nvml_health.c src/gpu/nvml_health.h \
	src/gpu/xid.c src/gpu/xid.h
