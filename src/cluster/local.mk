libadmin_a_SOURCES += \
	src/cluster/cluster.c src/cluster/cluster.h \
	src/cluster/document.c src/cluster/document.h \
	src/cluster/estimate.c src/cluster/estimate.h \
	src/cluster/hostlist.c src/cluster/hostlist.h \
	src/cluster/made.c src/cluster/made.h \
	src/cluster/measured.c src/cluster/measured.h \
	src/cluster/pairs.c src/cluster/pairs.h \
	src/cluster/place.c src/cluster/place.h \
	src/cluster/read.c src/cluster/read.h \
	src/cluster/slurm_topology.c src/cluster/slurm_topology.h

# One file for each export.
libadmin_a_SOURCES += \
	src/cluster/export/configmap.c \
	src/cluster/export/export.c src/cluster/export/export.h \
	src/cluster/export/hypernode.c \
	src/cluster/export/kubelet.c \
	src/cluster/export/labels.c \
	src/cluster/export/nrt.c \
	src/cluster/export/pod.c \
	src/cluster/export/resourceslice.c \
	src/cluster/export/slurm.c \
	src/cluster/export/topograph.c
