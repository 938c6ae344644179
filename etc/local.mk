# Shipped profiles: `aitherion init --profile NAME` writes etc/NAME_topology.yaml.
PROFILES = etc/ac922_topology.yaml etc/ac922-6gpu_topology.yaml etc/dgx2_topology.yaml etc/minsky_topology.yaml
SHARE_FILES += $(PROFILES:etc/%=share/aitherion/profiles/%)
EXTRA_DIST += $(PROFILES)

share/aitherion/profiles/%: etc/%
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@
