# Every generated call of the CUDA table, from the client's function through the wire and the dispatch to a recording driver.
tests/cuda/loopback.c: proto/cuda-generated.stamp tests/cuda/loopback.py
	$(AM_V_GEN)$(MKDIR_P) tests/cuda && \
	$(PYTHON) -B $(srcdir)/tests/cuda/loopback.py $(srcdir)/src/cuda/api $(srcdir)/proto/cuda-symbols.txt \
	< proto/cuda.request > $@
CLEANFILES += tests/cuda/loopback.c
EXTRA_DIST += tests/cuda/loopback.py

check_PROGRAMS += tests/cuda/loopback
tests_cuda_loopback_SOURCES = tests/cuda/loopback_main.c tests/cuda/loopback.h
tests_cuda_loopback_LDADD = $(lib_aitherion_libcuda_so_1_OBJECTS) libclient.a libaitherion.a $(YAML_LIBS) $(NETTLE_LIBS) $(SECCOMP_LIBS) -ldl -lpthread
tests_cuda_loopback_CPPFLAGS = $(AM_CPPFLAGS) -I$(builddir)/tests/cuda -I$(srcdir)/tests/cuda
# 19,000 lines that run once: to optimize them takes a quarter of a minute.
$(tests_cuda_loopback_OBJECTS): CFLAGS += -O0 -U_FORTIFY_SOURCE
$(tests_cuda_loopback_OBJECTS): | proto/generated.stamp proto/cuda-generated.stamp tests/cuda/loopback.c
