# A program for newcomers, which quickstart runs. It is linked to the client library as any CUDA program is to the driver's.
noinst_PROGRAMS += examples/vector_add
examples_vector_add_SOURCES = examples/vector_add.c
examples_vector_add_LDADD = lib/aitherion/libcuda.so.1
exampledir = $(pkgdatadir)/examples
dist_example_DATA = examples/vector_add.c
