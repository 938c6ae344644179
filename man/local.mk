# Man pages and completions: written from the command table, which the binary prints itself.
MAN_TEMPLATES = man/aitherion.1.in man/command.1.in man/aitherion-topology.yaml.5.in \
	man/aitherion-configure.1.in man/aitherion-discover.1.in man/aitherion-init.1.in man/aitherion-run.1.in
MAN1_PAGES = man/aitherion.1 \
	man/aitherion-clean.1 man/aitherion-cluster.1 man/aitherion-cluster-estimate.1 man/aitherion-cluster-measure.1 man/aitherion-cluster-place.1 man/aitherion-cluster-show.1 man/aitherion-completion.1 man/aitherion-configure.1 man/aitherion-discover.1 man/aitherion-estimate.1 man/aitherion-export.1 man/aitherion-fingerprint.1 man/aitherion-health.1 man/aitherion-help.1 \
	man/aitherion-image.1 man/aitherion-image-build.1 man/aitherion-image-list.1 man/aitherion-image-remove.1 \
	man/aitherion-init.1 man/aitherion-key.1 man/aitherion-key-add.1 man/aitherion-key-list.1 man/aitherion-key-remove.1 man/aitherion-kubernetes.1 man/aitherion-kubernetes-agent.1 man/aitherion-kubernetes-manifests.1 man/aitherion-kubernetes-scheduler.1 man/aitherion-kubernetes-webhook.1 \
	man/aitherion-logs.1 man/aitherion-menu.1 man/aitherion-metrics.1 man/aitherion-net.1 man/aitherion-net-test.1 man/aitherion-numa.1 man/aitherion-place.1 man/aitherion-restart.1 \
	man/aitherion-roce.1 man/aitherion-roce-add.1 man/aitherion-roce-bind.1 man/aitherion-roce-list.1 \
	man/aitherion-roce-macvlan.1 man/aitherion-roce-remove.1 man/aitherion-roce-test.1 \
	man/aitherion-run.1 man/aitherion-session.1 man/aitherion-session-end.1 man/aitherion-session-limit.1 \
	man/aitherion-session-list.1 man/aitherion-start.1 man/aitherion-status.1 man/aitherion-stop.1 man/aitherion-top.1 man/aitherion-version.1
MAN5_PAGES = man/aitherion-topology.yaml.5
man1_MANS = $(MAN1_PAGES) man/aitherion-runtime.1
man5_MANS = $(MAN5_PAGES)
MAN_DATE = 2026-11-21

# A program of its own, which has no command table to print.
man/aitherion-runtime.1: man/aitherion-runtime.1.in
	$(AM_V_GEN)$(MKDIR_P) man && sed -e 's/@[V]ERSION@/$(VERSION)/; s/@DATE@/$(MAN_DATE)/' $(srcdir)/man/aitherion-runtime.1.in > $@.new && mv $@.new $@

EXTRA_DIST += man/generate.py $(MAN_TEMPLATES) man/aitherion-runtime.1.in
CLEANFILES += man/aitherion-runtime.1 man/facts.json $(MAN1_PAGES) $(MAN5_PAGES)

man/facts.json: aitherion$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) man && LC_ALL=C $(EXE_WRAPPER) ./aitherion$(EXEEXT) help --json > $@.new && mv $@.new $@

# A command with nothing special to say has no template of its own.
$(MAN1_PAGES) $(MAN5_PAGES): man/facts.json man/generate.py $(MAN_TEMPLATES)
	$(AM_V_GEN)template=$(srcdir)/$@.in; test -f $$template || template=$(srcdir)/man/command.1.in; \
	$(PYTHON) $(srcdir)/man/generate.py man/facts.json $(VERSION) $(MAN_DATE) $(@F) $$template > $@.new && \
	mv $@.new $@

bashcomp_DATA = completions/aitherion
zshcomp_DATA = completions/_aitherion
fishcomp_DATA = completions/aitherion.fish
CLEANFILES += $(bashcomp_DATA) $(zshcomp_DATA) $(fishcomp_DATA)

WRITE_COMPLETION = $(MKDIR_P) completions && LC_ALL=C $(EXE_WRAPPER) ./aitherion$(EXEEXT) completion

completions/aitherion: aitherion$(EXEEXT)
	$(AM_V_GEN)$(WRITE_COMPLETION) bash > $@.new && mv $@.new $@
completions/_aitherion: aitherion$(EXEEXT)
	$(AM_V_GEN)$(WRITE_COMPLETION) zsh > $@.new && mv $@.new $@
completions/aitherion.fish: aitherion$(EXEEXT)
	$(AM_V_GEN)$(WRITE_COMPLETION) fish > $@.new && mv $@.new $@
