/* The table of arguments, and reading them. */
#include "config.h"

#include "slurm/arguments.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

const char *const ath_slurm_argument_names[ATH_SLURM_ARGUMENTS] = {
    [ATH_SLURM_SERVER] = "server",     [ATH_SLURM_KEY] = "key",
    [ATH_SLURM_KEY_NAME] = "key-name", [ATH_SLURM_ENCRYPT] = "encrypt",
    [ATH_SLURM_TLS_CA] = "tls-ca",     [ATH_SLURM_CONFIG] = "config",
    [ATH_SLURM_PROGRAM] = "aitherion",
};

bool ath_slurm_argument_is_remote(enum ath_slurm_argument argument)
{
    return argument <= ATH_SLURM_TLS_CA;
}

static int find(const char *word, size_t length)
{
    for (int i = 0; i < ATH_SLURM_ARGUMENTS; i++)
        if (strlen(ath_slurm_argument_names[i]) == length &&
            !memcmp(ath_slurm_argument_names[i], word, length))
            return i;
    return -1;
}

int ath_slurm_arguments_read(char *const *words, int count, struct ath_slurm_arguments *out,
                             struct ath_err *err)
{
    struct ath_slurm_arguments read = { 0 };

    read.values[ATH_SLURM_PROGRAM] = ATH_BINDIR "/aitherion";
    for (int i = 0; i < count; i++) {
        const char *equals = strchr(words[i], '=');
        int argument = equals ? find(words[i], (size_t)(equals - words[i])) : -1;
        if (argument < 0 || !equals[1]) {
            ath_err_set(err, -EINVAL, ATH_E_USAGE,
                        "'%s' in plugstack.conf is no argument of aitherion's plugin", words[i]);
            return ath_err_hint(err, -EINVAL,
                                "give NAME=VALUE, with server, key, key-name, encrypt, tls-ca, "
                                "config or aitherion as the name");
        }
        read.values[argument] = equals + 1;
    }
    *out = read;
    return 0;
}
