# Shipped profiles: `aitherion init --profile NAME` writes etc/NAME_topology.yaml.
PROFILES = etc/ac922_topology.yaml etc/ac922-6gpu_topology.yaml etc/dgx2_topology.yaml etc/minsky_topology.yaml
SHARE_FILES += $(PROFILES:etc/%=share/aitherion/profiles/%)
EXTRA_DIST += $(PROFILES)

share/aitherion/profiles/%: etc/%
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@

# For Prometheus and Grafana. src/watch/generate.py makes them from the table of metrics, and the table of docs/watching.md.
WATCHING = prometheus/aitherion-rules.yml grafana/aitherion-board.json
SHARE_FILES += $(WATCHING:%=share/aitherion/%)
EXTRA_DIST += $(WATCHING:%=etc/%) src/watch/generate.py

share/aitherion/prometheus/%: etc/prometheus/%
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@

share/aitherion/grafana/%: etc/grafana/%
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@

# For Slurm's controller, beside the plugin of src/slurm.
SHARE_FILES += share/aitherion/slurm/job_submit.lua
EXTRA_DIST += etc/slurm/job_submit.lua

share/aitherion/slurm/%: etc/slurm/%
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@

.PHONY: update-metrics
update-metrics: aitherion
	./aitherion metrics --table --json >metrics-table.json
	$(PYTHON) $(srcdir)/src/watch/generate.py $(srcdir) <metrics-table.json
	rm metrics-table.json
