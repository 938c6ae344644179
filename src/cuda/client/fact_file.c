/* A hash map of facts. The file is a head with a fingerprint of the rest, then the facts. */
#include "config.h"

#include "cuda/client/fact_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "remote/session/open.h"

enum { FILE_MAX = 8 * 1024 * 1024, FILES_MAX = 8, PATH_BYTES = 4096, LOCK_MS = 200 };
#define MAGIC "AITHFCT1"
#define PREFIX "facts-"

struct head {
    char magic[8];
    struct ath_fingerprint_value print; /* of what follows */
};

struct lengths {
    uint32_t key, value;
};

struct fact {
    struct ath_map_entry entry; /* by a hash of the key */
    bool is_used;               /* in this run */
    struct lengths lengths;
    uint8_t bytes[]; /* the key, then the value */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_map facts = ATH_MAP(12);
static size_t total; /* bytes of all facts in a file */
static char path[PATH_BYTES];
static bool is_open, is_changed;
static pid_t owner; /* the process that opened the file */

/* ---- the facts; the caller holds the lock ---- */

static size_t bytes_of(const struct fact *fact)
{
    return sizeof fact->lengths + fact->lengths.key + fact->lengths.value;
}

/* The place of a fact in the map; one of NULL if there is none. */
static struct ath_map_entry **place_of(const void *key, size_t length, uint64_t hash)
{
    struct ath_map_entry **at = ath_map_at(&facts, hash);
    for (; *at; at = ath_map_same(&(*at)->next, hash)) {
        const struct fact *fact = (const struct fact *)*at;
        if (fact->lengths.key == length && !memcmp(fact->bytes, key, length))
            break;
    }
    return at;
}

static struct fact *find_fact(const void *key, size_t length, uint64_t hash)
{
    return (struct fact *)*place_of(key, length, hash);
}

static void remove_fact(const void *key, size_t length)
{
    struct fact *fact = ath_map_take(place_of(key, length, ath_fingerprint_of(key, length).a));
    if (fact)
        total -= bytes_of(fact);
    free(fact);
}

/* Memory may have twice as much as the file: the file's facts may be of other programs. */
static bool add_fact(const void *key, const void *value, struct lengths lengths, bool is_used)
{
    uint64_t hash = ath_fingerprint_of(key, lengths.key).a;
    if (find_fact(key, lengths.key, hash) || total > 2 * (size_t)FILE_MAX)
        return false;
    struct fact *fact = malloc(sizeof *fact + lengths.key + lengths.value);
    if (!fact)
        return false;
    *fact = (struct fact){ .is_used = is_used, .lengths = lengths };
    memcpy(fact->bytes, key, lengths.key);
    memcpy(fact->bytes + lengths.key, value, lengths.value);
    ath_map_add(&facts, &fact->entry, hash);
    total += bytes_of(fact);
    return true;
}

/* ---- reading; the caller holds the lock ---- */

/* Returns whether a file is the user's own, and has none of the mode bits in `strangers`. */
static bool is_own(const struct stat *status, mode_t strangers)
{
    return status->st_uid == geteuid() && !(status->st_mode & strangers);
}

/* Returns the whole file, which the caller frees, or NULL. */
static uint8_t *read_whole(size_t *out_length)
{
    struct stat status;
    ath_auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
        !is_own(&status, S_IWGRP | S_IWOTH) || status.st_size < (off_t)sizeof(struct head) ||
        status.st_size > FILE_MAX)
        return NULL;
    size_t length = (size_t)status.st_size, filled = 0;
    ath_auto_free uint8_t *bytes = malloc(length);
    while (bytes && filled < length) {
        ssize_t got = read(fd, bytes + filled, length - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return NULL;
        filled += (size_t)got;
    }
    *out_length = length;
    return bytes ? ath_steal(&bytes) : NULL;
}

static bool is_whole(const uint8_t *bytes, size_t length)
{
    struct head head;
    memcpy(&head, bytes, sizeof head);
    struct ath_fingerprint_value print =
        ath_fingerprint_of(bytes + sizeof head, length - sizeof head);
    return !memcmp(head.magic, MAGIC, sizeof head.magic) && head.print.a == print.a &&
           head.print.b == print.b;
}

static void read_facts(void)
{
    size_t length = 0;
    ath_auto_free uint8_t *bytes = read_whole(&length);
    if (!bytes || !is_whole(bytes, length))
        return;
    struct lengths lengths;
    for (size_t at = sizeof(struct head); length - at >= sizeof lengths;
         at += (size_t)lengths.key + lengths.value) {
        memcpy(&lengths, bytes + at, sizeof lengths);
        at += sizeof lengths;
        if (lengths.key > length - at || lengths.value > length - at - lengths.key)
            return;
        (void)add_fact(bytes + at, bytes + at + lengths.key, lengths, false);
    }
}

/* ---- writing; the caller holds the lock ---- */

/* Puts the facts of this run first: there may be more than fit. */
static size_t put_facts(uint8_t *to, size_t room)
{
    size_t filled = 0;
    for (int is_used = 1; is_used >= 0; is_used--) {
        ATH_MAP_EACH(&facts, at)
        {
            const struct fact *fact = (const struct fact *)*at;
            if (fact->is_used != is_used || bytes_of(fact) > room - filled)
                continue;
            memcpy(to + filled, &fact->lengths, sizeof fact->lengths);
            memcpy(to + filled + sizeof fact->lengths, fact->bytes,
                   bytes_of(fact) - sizeof fact->lengths);
            filled += bytes_of(fact);
        }
    }
    return filled;
}

static void write_facts(void)
{
    struct head head = { .magic = MAGIC };
    struct ath_err err = { 0 };
    size_t room = total < FILE_MAX - sizeof head ? total : FILE_MAX - sizeof head;
    uint8_t *bytes = malloc(sizeof head + room);
    if (!bytes)
        return;
    size_t filled = put_facts(bytes + sizeof head, room);
    head.print = ath_fingerprint_of(bytes + sizeof head, filled);
    memcpy(bytes, &head, sizeof head);
    if (!ath_file_save(path, (const char *)bytes, sizeof head + filled, &err) && !chmod(path, 0600))
        is_changed = false;
    free(bytes);
}

/* ---- the folder ---- */

/* The user's folder for caches, and whether it is the user's own. */
static bool find_folder(char out[PATH_BYTES])
{
    const char *base = ath_client_variable("XDG_CACHE_HOME"), *home = ath_client_variable("HOME");
    struct stat status;
    int length = -1;
    if (base && *base == '/')
        length = snprintf(out, PATH_BYTES, "%s", base);
    else if (home && *home == '/' && !stat(home, &status) && is_own(&status, S_IWOTH))
        length = snprintf(out, PATH_BYTES, "%s/.cache", home);
    return length > 0 && length < PATH_BYTES - 256;
}

static bool is_own_folder(const char *folder)
{
    struct stat status;
    return !stat(folder, &status) && S_ISDIR(status.st_mode) && is_own(&status, S_IWOTH);
}

/* Makes a folder if there is none. Returns whether it is there and the user's own. */
static bool make_folder(const char *folder)
{
    return (!mkdir(folder, 0700) || errno == EEXIST) && is_own_folder(folder);
}

static int is_fact_file(const struct dirent *entry)
{
    return !strncmp(entry->d_name, PREFIX, strlen(PREFIX));
}

/* Removes the file that was saved longest ago if there are too many. */
static void remove_oldest(const char *folder)
{
    struct dirent **names = NULL;
    char oldest[PATH_BYTES] = "", one[PATH_BYTES];
    struct stat status;
    time_t when = 0;
    int count = scandir(folder, &names, is_fact_file, NULL);
    for (int i = 0; i < count; i++) {
        int length = snprintf(one, sizeof one, "%s/%s", folder, names[i]->d_name);
        free(names[i]);
        if (length >= PATH_BYTES || lstat(one, &status) || (*oldest && status.st_mtime >= when))
            continue;
        when = status.st_mtime;
        memcpy(oldest, one, sizeof oldest);
    }
    free(names);
    if (count > FILES_MAX)
        (void)unlink(oldest);
}

/* The last folder of the path; the caller gives its room. */
static void folder_of_path(char out[PATH_BYTES])
{
    memcpy(out, path, PATH_BYTES);
    *strrchr(out, '/') = '\0';
}

/* ---- for other files ---- */

void ath_cuda_fact_file_open(const struct ath_fingerprint_value *driver)
{
    char folder[PATH_BYTES];
    pthread_mutex_lock(&lock);
    if (!is_open && find_folder(folder)) {
        snprintf(path, sizeof path, "%.3800s/aitherion/" PREFIX "%016llx%016llx", folder,
                 (unsigned long long)driver->a, (unsigned long long)driver->b);
        read_facts();
    }
    is_open = true;
    owner = getpid();
    pthread_mutex_unlock(&lock);
}

bool ath_cuda_fact_file_find(const void *key, size_t length, struct ath_frame *value)
{
    uint64_t hash = ath_fingerprint_of(key, length).a;
    pthread_mutex_lock(&lock);
    struct fact *fact = find_fact(key, length, hash);
    bool is_found = fact && !ath_frame_copy(value, fact->bytes + length, fact->lengths.value);
    if (is_found)
        fact->is_used = true;
    pthread_mutex_unlock(&lock);
    return is_found;
}

/* The caller holds the lock. */
static void add_new(const void *key, size_t length, const void *value, size_t value_length,
                    bool is_used)
{
    struct lengths lengths = { (uint32_t)length, (uint32_t)value_length };
    if (is_open && length < FILE_MAX && value_length < FILE_MAX &&
        add_fact(key, value, lengths, is_used))
        is_changed = true;
}

void ath_cuda_fact_file_add(const void *key, size_t length, const void *value, size_t value_length,
                            bool is_used)
{
    pthread_mutex_lock(&lock);
    add_new(key, length, value, value_length, is_used);
    pthread_mutex_unlock(&lock);
}

void ath_cuda_fact_file_replace(const void *key, size_t length, const void *value,
                                size_t value_length)
{
    pthread_mutex_lock(&lock);
    remove_fact(key, length);
    add_new(key, length, value, value_length, true);
    pthread_mutex_unlock(&lock);
}

void ath_cuda_fact_file_save(void)
{
    struct ath_err err = { 0 };
    char folder[PATH_BYTES], base[PATH_BYTES];
    pthread_mutex_lock(&lock);
    if (is_changed && *path && owner == getpid() && find_folder(base)) {
        ath_auto_close int fd = -1;
        folder_of_path(folder);
        if (make_folder(base) && make_folder(folder) && !access(folder, W_OK) &&
            !ath_file_lock(path, LOCK_MS, &fd, &err)) {
            read_facts(); /* what another program saved meanwhile */
            write_facts();
            remove_oldest(folder);
        }
    }
    pthread_mutex_unlock(&lock);
}

void ath_cuda_fact_file_close(void)
{
    pthread_mutex_lock(&lock);
    ATH_MAP_EACH(&facts, at)
    free(ath_map_take(at));
    total = 0;
    is_open = false;
    is_changed = false;
    *path = '\0';
    pthread_mutex_unlock(&lock);
}
