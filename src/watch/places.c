/* Counts connections by source, with a lock. */
#include "config.h"

#include "watch/places.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "remote/wire/source.h"

struct ath_metrics_places {
    pthread_mutex_t lock;
    struct {
        bool is_taken;
        struct ath_source source;
    } items[ATH_METRICS_PLACES];
};

struct ath_metrics_places *ath_metrics_places_make(void)
{
    struct ath_metrics_places *places = ath_xalloc(sizeof *places);
    pthread_mutex_init(&places->lock, NULL);
    return places;
}

int ath_metrics_places_take(struct ath_metrics_places *places, int fd)
{
    struct ath_source source = ath_source_of_socket(fd);
    int number = -1, of_source = 0;

    pthread_mutex_lock(&places->lock);
    for (int i = 0; i < ATH_METRICS_PLACES; i++) {
        if (!places->items[i].is_taken)
            number = i;
        else
            of_source += ath_source_is(places->items[i].source, source);
    }
    if (of_source >= ATH_METRICS_PLACES_OF_SOURCE)
        number = -1;
    if (number >= 0) {
        places->items[number].is_taken = true;
        places->items[number].source = source;
    }
    pthread_mutex_unlock(&places->lock);
    return number;
}

void ath_metrics_places_give(struct ath_metrics_places *places, int number)
{
    pthread_mutex_lock(&places->lock);
    places->items[number].is_taken = false;
    pthread_mutex_unlock(&places->lock);
}
