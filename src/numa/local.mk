libaitherion_a_SOURCES += \
	src/numa/discover.h \
	src/numa/machine.h \
	src/numa/pair.h
