libaitherion_a_SOURCES += \
	src/roce/nic.h
