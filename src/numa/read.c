/* Reading files and their lines. */
#include "config.h"

#include "numa/read.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "numa/warning.h"

char *ath_read_or_warn(const struct ath_root *root, struct ath_machine *machine, const char *path,
                       const char *lost)
{
    char *text = ath_root_read(root, "%s", path);
    int status = errno;
    if (!text && (status == EACCES || status == EPERM))
        ath_warning_add(machine, ATH_W_UNREADABLE, path, strerror(status), lost, NULL);
    return text;
}

char *ath_line_value(const char *text, const char *key)
{
    size_t key_length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, key_length))
            continue;
        const char *value = line + key_length;
        value += strspn(value, " \t");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        size_t length = strcspn(value, "\r\n");
        while (length && strchr(" \t", value[length - 1]))
            length--;
        return ath_xasprintf("%.*s", (int)length, value);
    }
    return NULL;
}
