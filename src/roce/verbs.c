/* Loading libibverbs and opening devices. */
#include "config.h"

#include "roce/verbs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/i18n.h"

const struct ath_verbs *ath_verbs_load(struct ath_err *err)
{
    static const char *const names[] = { ATH_VERBS_FUNCTIONS(ATH_LATE_NAME) NULL };
    static struct ath_verbs verbs;

    if (!verbs.ibv_wc_status_str &&
        ath_late_load("libibverbs.so.1", "libibverbs1 ibverbs-providers", names, &verbs, err))
        return NULL;
    return &verbs;
}

static struct ibv_device *find(const struct ath_verbs *verbs, struct ibv_device **list,
                               const char *name)
{
    for (; list && *list; list++)
        if (!strcmp(verbs->ibv_get_device_name(*list), name))
            return *list;
    return NULL;
}

/* The kernel has the device, but the library does not list it: the provider or uverbs is
 * missing. */
static int not_shown(const char *name, struct ath_err *err)
{
    ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND,
                _("libibverbs does not show the RDMA device '%s': its /dev/infiniband/uverbs file "
                  "or its provider is missing"),
                name);
    return ath_err_hint(err, -ENODEV, "modprobe ib_uverbs; apt-get install ibverbs-providers");
}

int ath_verbs_open(const struct ath_verbs *verbs, const char *name, struct ibv_context **out,
                   struct ath_err *err)
{
    struct ibv_device **list = (verbs->ibv_get_device_list)(NULL);
    struct ibv_device *device = find(verbs, list, name);
    bool is_shown = device != NULL;

    errno = 0;
    struct ibv_context *context = device ? verbs->ibv_open_device(device) : NULL;
    int status = context ? 0 : -(errno ? errno : ENODEV);
    if (list)
        verbs->ibv_free_device_list(list);
    if (!is_shown)
        return not_shown(name, err);
    if (status) {
        ath_err_system(err, status, _("cannot open the RDMA device '%s'"), name);
        return ath_err_hint(err, status,
                            _("the files below /dev/infiniband must be readable and writable; a "
                              "container gets them with --device"));
    }
    *out = context;
    return 0;
}

int ath_verbs_query_port(const struct ath_verbs *verbs, struct ibv_context *context, int port,
                         struct ibv_port_attr *out, struct ath_err *err)
{
    struct ibv_port_attr attributes = { 0 };
    /* The exported function fills an older, shorter struct, which is the beginning of this one. */
    int fault = (verbs->ibv_query_port)(context, (uint8_t)port, (void *)&attributes);
    if (fault)
        return ath_err_system(err, -fault, _("cannot query port %d of '%s'"), port,
                              verbs->ibv_get_device_name(context->device));
    *out = attributes;
    return 0;
}
