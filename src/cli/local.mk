aitherion_SOURCES = src/cli/main.c
aitherion_LDADD = $(LIBAITHERION)
