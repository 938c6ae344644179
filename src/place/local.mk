libaitherion_a_SOURCES += \
	src/place/gpu_ring.c src/place/gpu_ring.h \
	src/place/search.c src/place/search.h \
	src/place/set.c src/place/set.h
