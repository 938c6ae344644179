# The systemd unit, with the path of the installed program.
CLEANFILES += packaging/systemd/aitherion.service
packaging/systemd/aitherion.service: packaging/systemd/aitherion.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|@[b]indir@|$(bindir)|' $(srcdir)/packaging/systemd/aitherion.service.in > $@.new && mv $@.new $@
if SYSTEMD
systemdsystemunit_DATA = packaging/systemd/aitherion.service
endif

# The objects of Kubernetes, which `aitherion kubernetes manifests` fills in.
SHARE_FILES += share/aitherion/kubernetes/aitherion.yaml
EXTRA_DIST += packaging/kubernetes/aitherion.yaml packaging/kubernetes/Dockerfile

share/aitherion/kubernetes/%: packaging/kubernetes/%
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@

# A Debian package of this tree, in deb/. It needs debhelper.
deb: dist
	rm -rf deb && $(MKDIR_P) deb && tar -C deb -xf $(distdir).tar.xz && cp -r deb/$(distdir)/packaging/debian deb/$(distdir)/debian
	cd deb/$(distdir) && dpkg-buildpackage --build=binary --no-sign
	rm -rf deb/$(distdir) && ls -l deb/*.deb

# A package for distributions that use rpm, in rpm/. It needs rpmbuild; on Debian, where rpm knows no packages: RPMBUILD_FLAGS=--nodeps.
rpm: dist
	$(MKDIR_P) rpm && rpmbuild -bb $(RPMBUILD_FLAGS) --define "_topdir $(abs_builddir)/rpm" --define "_sourcedir $(abs_builddir)" $(srcdir)/packaging/aitherion.spec

.PHONY: deb rpm
clean-local: clean-packages
clean-packages:
	rm -rf deb rpm
