libadmin_a_SOURCES += \
	src/numa/core.c src/numa/core.h \
	src/numa/discover.c src/numa/discover.h \
	src/numa/gpu.c src/numa/gpu.h \
	src/numa/gpu_health.c src/numa/gpu_health.h \
	src/numa/gpu_links.c src/numa/gpu_links.h \
	src/numa/host.c src/numa/host.h \
	src/numa/hwloc_import.c src/numa/hwloc_import.h \
	src/numa/hwloc_links.c \
	src/numa/hwloc_pci.c \
	src/numa/hwloc_walk.c src/numa/hwloc_walk.h \
	src/numa/hwloc_xml.c src/numa/hwloc_xml.h \
	src/numa/kernel_log.c src/numa/kernel_log.h \
	src/numa/machine.c src/numa/machine.h \
	src/numa/nccl_xml.c src/numa/nccl_xml.h \
	src/numa/near.c src/numa/near.h \
	src/numa/node.c src/numa/node.h \
	src/numa/numactl.c src/numa/numactl.h \
	src/numa/nvml.c src/numa/nvml.h \
	src/numa/nvml_api.c src/numa/nvml_api.h \
	src/numa/nvml_place.c src/numa/nvml_place.h \
	src/numa/offline_cpus.c src/numa/offline_cpus.h \
	src/numa/pair.c src/numa/pair.h \
	src/numa/profile.c src/numa/profile.h \
	src/numa/read.c src/numa/read.h \
	src/numa/smi_table.c src/numa/smi_table.h \
	src/numa/smi_topo.c src/numa/smi_topo.h \
	src/numa/topology_json.c src/numa/topology_json.h \
	src/numa/topology_text.c src/numa/topology_text.h \
	src/numa/topology_xml.c src/numa/topology_xml.h \
	src/numa/usable.c src/numa/usable.h \
	src/numa/warning.c src/numa/warning.h \
	src/numa/xml_nics.c src/numa/xml_nics.h \
	src/numa/xml_reader.h
