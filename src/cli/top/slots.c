/* Fitting columns into a line. */
#include "config.h"

#include "cli/top/slots.h"

/* Returns the most important slot that is less important than the last one, or NULL. If several are
 * equally important, the left one comes first. */
static struct ath_slot *next_slot(struct ath_slot *slots, size_t count, const struct ath_slot *last)
{
    struct ath_slot *best = NULL;
    for (size_t i = 0; i < count; i++) {
        bool is_after = !last || slots[i].importance < last->importance ||
                        (slots[i].importance == last->importance && &slots[i] > last);
        if (slots[i].is_wanted && is_after && (!best || slots[i].importance > best->importance))
            best = &slots[i];
    }
    return best;
}

/* Gives the slots their least widths. Returns the room that is left. */
static int take_least(struct ath_slot *slots, size_t count, int width, int gap)
{
    struct ath_slot *slot = next_slot(slots, count, NULL);
    int room = width;

    if (slot) {
        slot->width = slot->least < width ? slot->least : width;
        room -= slot->width;
    }
    while (slot && (slot = next_slot(slots, count, slot)) && slot->least + gap <= room) {
        slot->width = slot->least;
        room -= slot->width + gap;
    }
    return room;
}

static void take_more(struct ath_slot *slots, size_t count, int room)
{
    for (struct ath_slot *slot = next_slot(slots, count, NULL); slot && slot->width;
         slot = next_slot(slots, count, slot)) {
        int more = slot->most - slot->width;
        more = more > room ? room : more > 0 ? more : 0;
        slot->width += more;
        room -= more;
    }
}

void ath_slots_fit(struct ath_slot *slots, size_t count, int width, int gap)
{
    int column = 0;

    for (size_t i = 0; i < count; i++)
        slots[i].column = slots[i].width = 0;
    take_more(slots, count, take_least(slots, count, width, gap));
    for (size_t i = 0; i < count; i++)
        if (slots[i].width) {
            slots[i].column = column;
            column += slots[i].width + gap;
        }
}
