libadmin_a_SOURCES += \
	src/roce/address.c src/roce/address.h \
	src/roce/card.c src/roce/card.h \
	src/roce/function.c src/roce/function.h \
	src/roce/gid.c src/roce/gid.h \
	src/roce/kinship.c src/roce/kinship.h \
	src/roce/lack.c src/roce/lack.h \
	src/roce/link_gid.c src/roce/link_gid.h \
	src/roce/link.c src/roce/link_change.c src/roce/link.h src/roce/link_internal.h \
	src/roce/macvlan.c src/roce/macvlan_apply.c src/roce/macvlan_check.c src/roce/macvlan_plan.c src/roce/macvlan.h src/roce/macvlan_internal.h \
	src/roce/netdev.c src/roce/netdev.h \
	src/roce/netlink.c src/roce/netlink.h \
	src/roce/netns.c src/roce/netns.h \
	src/roce/netstate.c src/roce/netstate.h \
	src/roce/nic.c src/roce/nic.h \
	src/roce/perf.c src/roce/perf.h \
	src/roce/perf_channel.c src/roce/perf_channel.h \
	src/roce/perf_exchange.c src/roce/perf_exchange.h \
	src/roce/perf_plan.c src/roce/perf_plan.h \
	src/roce/perf_port.c src/roce/perf_port.h \
	src/roce/perf_run.c src/roce/perf_run.h \
	src/roce/perf_stats.c src/roce/perf_stats.h \
	src/roce/port.c src/roce/port.h \
	src/roce/qp.c src/roce/qp.h \
	src/roce/rdma.c src/roce/rdma.h \
	src/roce/rdma_netlink.c src/roce/rdma_netlink.h \
	src/roce/route.c src/roce/route.h \
	src/roce/verbs.c src/roce/verbs.h
