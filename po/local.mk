# Translations. `make update-po` collects the messages after a change of texts; then translate what is new.
LINGUAS = zh_CN
SHARE_FILES += $(LINGUAS:%=share/locale/%/LC_MESSAGES/aitherion.mo)
EXTRA_DIST += $(LINGUAS:%=po/%.po) po/aitherion.pot

share/locale/%/LC_MESSAGES/aitherion.mo: po/%.po
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(MSGFMT) -c -o $@ $<

XGETTEXT_COMMAND = $(XGETTEXT) --language=C --keyword=_ --keyword=N_ --keyword=ngettext:1,2 --from-code=UTF-8 --no-location \
	--add-comments=TRANSLATORS --package-name=aitherion --foreign-user --sort-output

# The creation date is left out, so that the catalogue changes only when the texts do.
update-po:
	cd $(srcdir) && find src -name '*.[ch]' | LC_ALL=C sort | $(XGETTEXT_COMMAND) -f - -o - | \
		grep -v '^"POT-Creation-Date' > po/aitherion.pot.new && mv po/aitherion.pot.new po/aitherion.pot
	cd $(srcdir) && for language in $(LINGUAS); do \
		$(MSGMERGE) --quiet --update --backup=none --no-fuzzy-matching po/$$language.po po/aitherion.pot || exit 1; done
.PHONY: update-po
