# The systemd unit, with the path of the installed program.
CLEANFILES += packaging/systemd/aitherion.service
packaging/systemd/aitherion.service: packaging/systemd/aitherion.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|@[b]indir@|$(bindir)|' $(srcdir)/packaging/systemd/aitherion.service.in > $@.new && mv $@.new $@
if SYSTEMD
systemdsystemunit_DATA = packaging/systemd/aitherion.service
endif
