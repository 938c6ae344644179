# Shipped profiles: etc/NAME_topology.yaml is what `aitherion init --profile NAME` writes.
PROFILES = etc/ac922_topology.yaml
SHARE_FILES += $(PROFILES:etc/%=share/aitherion/profiles/%)
EXTRA_DIST += $(PROFILES)

share/aitherion/profiles/%: etc/%
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@
