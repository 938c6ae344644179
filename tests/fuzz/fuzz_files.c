/*
 * Fuzzes the readers of small files: the first byte of an input chooses one, the rest is the file.
 * They are the rows of identities, the state of a node, CDI specifications, and the maps of user
 * ids.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/unknown.h"
#include "container/engine/process_state.h"
#include "container/plan/cdi.h"
#include "runtime/identities.h"
#include "runtime/sandbox/users.h"

#include "fuzz.h"

enum { WRITTEN_MAX = 8 << 10 }; /* a larger state may grow beyond what is read, by its blanks */

/* The folder has etc/cdi/gpu.yaml, as CDI has it, and state.json. */
static char folder[] = "/dev/shm/aitherion-fuzz-XXXXXX";
static const char *const parts[] = { "state.json", "etc/cdi/gpu.yaml", "etc/cdi", "etc", "." };

static char *path_of(const char *name)
{
    static char path[sizeof folder + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void remove_folder(void)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        remove(path_of(parts[i]));
    rmdir(folder);
}

static void make_folder(void)
{
    static bool is_made;
    if (is_made)
        return;
    insist(mkdtemp(folder) && !atexit(remove_folder), "there is a folder");
    insist(!mkdir(path_of("etc"), 0700) && !mkdir(path_of("etc/cdi"), 0700), "there are folders");
    is_made = true;
}

static void write_file(const char *name, const char *bytes, size_t length)
{
    ath_auto_close int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    insist(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "a file is written");
}

static void read_identities(const char *text, size_t length)
{
    static struct ath_identities rows, before;
    struct ath_err err = { 0 };
    (void)length;
    memset(&rows, 0x5a, sizeof rows);
    before = rows;
    if (ath_identities_parse(text, &rows, &err)) {
        insist(!memcmp(&rows, &before, sizeof rows), "faulty rows change nothing");
        return;
    }
    insist(rows.count <= ATH_IDENTITIES_MAX, "rows have bounds");
    for (size_t i = 0; i < rows.count; i++) {
        const struct ath_identity *row = &rows.items[i];
        insist(ath_identities_find(&rows, row->name) == row, "a name stands in one row");
        int64_t limit = ath_identity_limit_bytes(row, 1 << 30);
        insist(limit == ATH_UNKNOWN || limit >= 0, "a limit is no negative number");
        ath_identity_has_gpu(row, "0000:01:00.0");
    }
}

static void read_state(const char *text, size_t length)
{
    ATH_AUTO(ath_process_state) state = { 0 };
    ATH_AUTO(ath_process_state) again = { 0 };
    struct ath_err err = { 0 };
    write_file("state.json", text, length);
    if (ath_process_state_read(folder, &state, &err))
        return;
    ath_process_state_is_supervised(&state);
    ath_process_state_has_runtime(&state);
    if (!state.name || !state.boot_id || length > WRITTEN_MAX)
        return;
    insist(!ath_process_state_write(folder, &state, &err), "what was read is written");
    insist(!ath_process_state_read(folder, &again, &err), "what is written reads back");
    insist(again.id == state.id && again.supervisor == state.supervisor &&
               again.runtime == state.runtime && !strcmp(again.name, state.name) &&
               again.cgroups.count == state.cgroups.count,
           "and says the same");
}

static void read_cdi(const char *text, size_t length)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ATH_AUTO(ath_cdi) cdi = { 0 };
    struct ath_err err;
    write_file("etc/cdi/gpu.yaml", text, length);
    insist(!ath_root_open(folder, &root, &err), "there is a root");
    ath_cdi_read(&root, &cdi);
    for (size_t i = 0; i < cdi.count; i++)
        insist(!strncmp(cdi.devices[i].name, ATH_CDI_KIND "=", sizeof ATH_CDI_KIND),
               "a device has its full name");
    const char *found = ath_cdi_find(&cdi, "GPU-1", 0);
    insist(!found || cdi.count, "a device that is found is there");
}

static void read_user_map(const char *text, size_t length)
{
    struct ath_sandbox_users users;
    (void)length;
    ath_sandbox_users_init(&users, text);
    uid_t alice = ath_sandbox_users_find(&users, "alice");
    uid_t bob = ath_sandbox_users_find(&users, "bob");
    insist(alice == (uid_t)-1 || alice != bob, "each identity has a user of its own");
    insist(alice == (uid_t)-1 || (alice && alice - users.first < users.count),
           "a session's user is of the range, and not root");
    insist(ath_sandbox_users_find(&users, "alice") == alice, "an identity keeps its user");
    ath_sandbox_users_free(&users);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = { read_identities, read_state, read_cdi,
                                                             read_user_map };
    if (!size)
        return 0;
    ath_auto_free char *text = malloc(size);
    insist(text != NULL, "there is memory");
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    make_folder();
    readers[data[0] % (sizeof readers / sizeof *readers)](text, size - 1);
    return 0;
}
