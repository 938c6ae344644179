libaitherion_a_SOURCES += \
	src/roce/card.c src/roce/card.h \
	src/roce/function.c src/roce/function.h \
	src/roce/gid.c src/roce/gid.h \
	src/roce/kinship.c src/roce/kinship.h \
	src/roce/netdev.c src/roce/netdev.h \
	src/roce/nic.c src/roce/nic.h \
	src/roce/port.c src/roce/port.h \
	src/roce/rdma.c src/roce/rdma.h \
	src/roce/route.c src/roce/route.h
