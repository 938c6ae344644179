libaitherion_a_SOURCES +=
