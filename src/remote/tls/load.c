/* Loads GnuTLS. */
#include "config.h"

#include <pthread.h>

#include "remote/tls/gnutls.h"
#include "remote/tls/tls.h"

ATH_LATE_NOTE(gnutls_note, "libgnutls.so.30", "required");

struct ath_gnutls ath_gnutls;

int ath_tls_load(struct ath_err *err)
{
    static const char *const names[] = { ATH_GNUTLS_FUNCTIONS(ATH_LATE_NAME) NULL };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int status = ath_gnutls.gnutls_init
                     ? 0
                     : ath_late_load("libgnutls.so.30", "libgnutls30", names, &ath_gnutls, err);
    pthread_mutex_unlock(&lock);
    return status;
}
