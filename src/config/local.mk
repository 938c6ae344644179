libadmin_a_SOURCES += \
	src/config/bind.c src/config/bind.h \
	src/config/check.c src/config/check_numa.c src/config/check_shares.c src/config/check_roce.c src/config/check.h src/config/check_internal.h \
	src/config/document.c src/config/document.h \
	src/config/draft.c src/config/draft.h \
	src/config/edit.c src/config/edit.h \
	src/config/entry.c src/config/entry.h \
	src/config/forms.c src/config/forms.h \
	src/config/key.c src/config/key.h \
	src/config/key_file.c src/config/key_file.h \
	src/config/key_folder.c src/config/key_folder.h \
	src/config/profile.c src/config/profile.h \
	src/config/propose.c src/config/propose.h \
	src/config/propose_cards.c src/config/propose_internal.h \
	src/config/propose_gpus.c \
	src/config/propose_ports.c \
	src/config/roce_edit.c src/config/roce_edit.h \
	src/config/rules.c src/config/rules.h \
	src/config/schema.c src/config/schema.h \
	src/config/value.c \
	src/config/write.c src/config/write.h

# The server reads a file of its own with it.
libaitherion_a_SOURCES += \
	src/config/faults.c src/config/faults.h \
	src/config/yaml.c src/config/yaml.h \
	src/config/yaml_read.c
