libadmin_a_SOURCES += \
	src/place/capability.c src/place/capability.h \
	src/place/chip.c src/place/chip.h \
	src/place/choose.c src/place/choose.h \
	src/place/cpus.c src/place/cpus.h \
	src/place/equivalent.c src/place/equivalent.h \
	src/place/estimate.c src/place/estimate.h \
	src/place/gpu_fingerprint.c src/place/gpu_fingerprint.h \
	src/place/gpu_models.c src/place/gpu_models.h \
	src/place/gpu_pair.c src/place/gpu_pair.h \
	src/place/gpu_rates.c src/place/gpu_rates.h \
	src/place/gpu_ring.c src/place/gpu_ring.h \
	src/place/group.c src/place/group.h \
	src/place/link_figures.c src/place/link_figures.h \
	src/place/matrix.c src/place/matrix.h \
	src/place/measured_links.c src/place/measured_links.h \
	src/place/ports.c src/place/ports.h \
	src/place/search.c src/place/search.h \
	src/place/search_bounds.c src/place/search_internal.h \
	src/place/search_choice.c \
	src/place/search_tables.c \
	src/place/set.c src/place/set.h \
	src/place/twins.c src/place/twins.h
