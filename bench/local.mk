# The programs that bench/run starts. Each also has a line in bench/catalogue.py.
BENCH_LOAD = bench/load.c bench/load.h
bench_calls_SOURCES = bench/calls.c $(BENCH_LOAD) $(DRIVER_API_TEST_SOURCES)
bench_calls_LDADD = $(DRIVER_API_TEST_LDADD)
bench_clients_SOURCES = bench/clients.c $(BENCH_LOAD) $(DRIVER_API_TEST_SOURCES)
bench_clients_LDADD = $(DRIVER_API_TEST_LDADD)
bench_cluster_SOURCES = bench/cluster.c
bench_cluster_LDADD = libadmin.a libaitherion.a -lpthread
bench_copies_SOURCES = bench/copies.c $(BENCH_LOAD) $(DRIVER_API_TEST_SOURCES)
bench_copies_LDADD = $(DRIVER_API_TEST_LDADD)
bench_kubernetes_SOURCES = bench/kubernetes.c
bench_kubernetes_LDADD = libadmin.a libaitherion.a $(JANSSON_LIBS) $(YAML_LIBS) -lm -lpthread
bench_party_SOURCES = bench/party.c $(BENCH_LOAD) $(DRIVER_API_TEST_SOURCES)
bench_party_LDADD = $(DRIVER_API_TEST_LDADD)
bench_place_SOURCES = bench/place.c
bench_place_LDADD = libadmin.a libaitherion.a -lpthread
bench_line_SOURCES = bench/line.c
bench_line_LDADD = libaitherion.a
bench_relay_SOURCES = bench/relay.c
bench_relay_LDADD = libaitherion.a -lpthread
bench_served_SOURCES = bench/served.c $(BENCH_LOAD) $(DRIVER_API_TEST_SOURCES)
bench_served_LDADD = libaitherion.a $(DRIVER_API_TEST_LDADD) $(NETTLE_LIBS) -ldl
bench_start_SOURCES = bench/start.c $(BENCH_LOAD) $(DRIVER_API_TEST_SOURCES)
bench_start_LDADD = $(DRIVER_API_TEST_LDADD)
bench_steps_SOURCES = bench/steps.c $(BENCH_LOAD) $(DRIVER_API_TEST_SOURCES)
bench_steps_LDADD = $(DRIVER_API_TEST_LDADD)
bench_streams_SOURCES = bench/streams.c $(BENCH_LOAD)
bench_streams_LDADD = libaitherion.a $(NETTLE_LIBS) -lpthread
bench_threads_SOURCES = bench/threads.c $(BENCH_LOAD) $(DRIVER_API_TEST_SOURCES)
bench_threads_LDADD = $(DRIVER_API_TEST_LDADD)
bench_udp_SOURCES = bench/udp.c
bench_udp_LDADD = libaitherion.a $(NETTLE_LIBS) -lpthread
check_PROGRAMS += bench/calls bench/clients bench/cluster bench/copies bench/kubernetes bench/line bench/party bench/place bench/relay bench/served bench/start bench/steps bench/streams bench/threads bench/udp
EXTRA_DIST += bench/catalogue.py bench/counts.py bench/discover.py bench/fabric.py bench/goals.py bench/jax_steps.py bench/load.py bench/machine.py bench/measure.py bench/net_test.py \
	bench/page.py bench/parties.py bench/plot.py bench/relay.py bench/run bench/share_figure.py bench/share_parts.py bench/shares bench/starts bench/switches.py bench/table.py bench/torch_compiled.py bench/torch_issued.py \
	bench/torch_loops.py bench/torch_models.py bench/torch_party.py
