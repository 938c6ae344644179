/* Checks of what runtimes need: the engine, the image, the key and the certificate. */

#include "config.h"

#include "base/i18n.h"
#include "health/check_runtime.h"

/* If this user may not ask Docker, its containers are unknown. If the document wants Docker and
 * nothing answers, that is a fault. */
bool ath_health_check_engine(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known)
        return false;
    if (runtimes->docker_status && runtimes->docker_err.code == ATH_E_ENGINE_DENIED)
        ath_health_hint_err(ath_health_unsure(health, "docker",
                                              _("could not tell what runs in Docker: %s"),
                                              runtimes->docker_err.message),
                            &runtimes->docker_err);
    else if (runtimes->docker_status)
        ath_health_hint_err(ath_health_wrong(health, "docker", "%s", runtimes->docker_err.message),
                            &runtimes->docker_err);
    if (runtimes->survey_status)
        ath_health_hint_err(ath_health_unsure(health, NULL, _("could not tell what runs: %s"),
                                              runtimes->survey_err.message),
                            &runtimes->survey_err);
    return true;
}

bool ath_health_check_key(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known || !runtimes->has_key)
        return false; /* the first start makes the key */
    if (runtimes->key_status)
        ath_health_hint_err(ath_health_unsure(health, NULL, _("could not ask the runtimes: %s"),
                                              runtimes->key_err.message),
                            &runtimes->key_err);
    return true;
}

bool ath_health_check_key_open(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known || !runtimes->has_key)
        return false;
    if (runtimes->open_key)
        ath_health_hint(
            ath_health_wrong(health, NULL,
                             _("other users can read the shared key '%s', and so use the GPUs"),
                             runtimes->open_key),
            "chmod 600 %s", runtimes->open_key);
    return true;
}

bool ath_health_check_certificate(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    const struct ath_err *err = &runtimes->certificate_err;
    bool could_look = err->code != ATH_E_NO_ACCESS && err->code != ATH_E_LIBRARY;

    if (!runtimes->is_known || !runtimes->has_certificate)
        return false;
    if (runtimes->certificate_status && could_look)
        ath_health_hint_err(ath_health_wrong(health, NULL, "%s", err->message), err);
    else if (runtimes->certificate_status)
        ath_health_hint_err(ath_health_unsure(health, NULL, "%s", err->message), err);
    else if (runtimes->certificate_soon)
        ath_health_hint_err(ath_health_warn(health, NULL, "%s", err->message), err);
    return true;
}

bool ath_health_check_image(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->needs_image)
        return false;
    if (runtimes->image_status)
        ath_health_hint_err(ath_health_wrong(health, NULL, "%s", runtimes->image_err.message),
                            &runtimes->image_err);
    return true;
}
