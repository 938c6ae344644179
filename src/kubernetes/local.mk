# Parts that run in Kubernetes: the agent of a node, the scheduler's extender, the webhook.
libadmin_a_SOURCES += \
	src/kubernetes/agent.c src/kubernetes/agent.h \
	src/kubernetes/api.c src/kubernetes/api.h \
	src/kubernetes/authority.c src/kubernetes/authority.h \
	src/kubernetes/bind.c src/kubernetes/bind.h \
	src/kubernetes/cache.c src/kubernetes/cache.h src/kubernetes/cache_state.h \
	src/kubernetes/cache_choose.c \
	src/kubernetes/cache_feed.c \
	src/kubernetes/cache_preempt.c \
	src/kubernetes/client.c src/kubernetes/client.h \
	src/kubernetes/compute_node.c src/kubernetes/compute_node.h \
	src/kubernetes/extender.c src/kubernetes/extender.h \
	src/kubernetes/extender_pages.c src/kubernetes/extender_pages.h \
	src/kubernetes/figures.c src/kubernetes/figures.h \
	src/kubernetes/guard.c src/kubernetes/guard.h \
	src/kubernetes/http.c src/kubernetes/http.h \
	src/kubernetes/inject.c src/kubernetes/inject.h \
	src/kubernetes/judge.c src/kubernetes/judge.h \
	src/kubernetes/lease.c src/kubernetes/lease.h \
	src/kubernetes/manifests.c src/kubernetes/manifests.h \
	src/kubernetes/pod.c src/kubernetes/pod.h \
	src/kubernetes/quantity.c src/kubernetes/quantity.h \
	src/kubernetes/quota.c src/kubernetes/quota.h \
	src/kubernetes/report.c src/kubernetes/report.h \
	src/kubernetes/review.c src/kubernetes/review.h \
	src/kubernetes/review_json.c src/kubernetes/review_json.h \
	src/kubernetes/scheduler.c src/kubernetes/scheduler.h \
	src/kubernetes/server.c src/kubernetes/server.h \
	src/kubernetes/shape.c src/kubernetes/shape.h \
	src/kubernetes/watch.c src/kubernetes/watch.h \
	src/kubernetes/webhook.c src/kubernetes/webhook.h
