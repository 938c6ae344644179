/* Fitting columns into a line. */
#include "config.h"

#include "cli/top/slots.h"

/* Returns the most important slot that has no width yet, or NULL. */
static struct ath_slot *next_slot(struct ath_slot *slots, size_t count)
{
    struct ath_slot *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (slots[i].is_wanted && !slots[i].width &&
            (!best || slots[i].importance > best->importance))
            best = &slots[i];
    return best;
}

/* Gives the slots their least widths. Returns the room that is left. */
static int take_least(struct ath_slot *slots, size_t count, int width, int gap)
{
    struct ath_slot *slot = next_slot(slots, count);
    int room = width;

    if (slot) {
        slot->width = slot->least < width ? slot->least : width;
        room -= slot->width;
    }
    while ((slot = next_slot(slots, count)) && slot->least + gap <= room) {
        slot->width = slot->least;
        room -= slot->width + gap;
    }
    return room;
}

void ath_slots_fit(struct ath_slot *slots, size_t count, int width, int gap)
{
    int column = 0;

    for (size_t i = 0; i < count; i++)
        slots[i].column = slots[i].width = 0;
    int room = take_least(slots, count, width, gap);
    for (size_t i = 0; i < count; i++) {
        if (!slots[i].width)
            continue;
        int more = slots[i].most - slots[i].width;
        more = more > room ? room : more > 0 ? more : 0;
        slots[i].width += more;
        room -= more;
        slots[i].column = column;
        column += slots[i].width + gap;
    }
}
