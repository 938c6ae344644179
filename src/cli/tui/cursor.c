/* Moving in a list. */
#include "config.h"

#include "cli/tui/cursor.h"

static int within(int value, int count)
{
    if (value >= count)
        value = count - 1;
    return value < 0 ? 0 : value;
}

void ath_cursor_fit(struct ath_cursor *cursor, int count, int shown)
{
    cursor->page = shown;
    cursor->at = within(cursor->at, count);
    if (cursor->first > cursor->at)
        cursor->first = cursor->at;
    if (cursor->at >= cursor->first + shown)
        cursor->first = cursor->at - shown + 1;
    if (cursor->first + shown > count)
        cursor->first = count > shown ? count - shown : 0;
}

/* After "1", waits for another digit if there is a row 10. */
static bool type_digit(struct ath_cursor *cursor, int digit, int count)
{
    int number = cursor->number * 10 + digit;
    if (number > count)
        number = digit;
    if (number < 1 || number > count) {
        cursor->number = 0;
        return false;
    }
    cursor->at = number - 1;
    cursor->number = number * 10 <= count ? number : 0;
    return !cursor->number;
}

bool ath_cursor_act(struct ath_cursor *cursor, enum ath_action action, int key, int count)
{
    if (action == ATH_ACTION_NUMBER)
        return type_digit(cursor, key - '0', count);
    cursor->number = 0;
    switch (action) {
    case ATH_ACTION_UP:
        cursor->at = cursor->at > 0 ? cursor->at - 1 : within(count - 1, count);
        break;
    case ATH_ACTION_DOWN:
        cursor->at = cursor->at + 1 < count ? cursor->at + 1 : 0;
        break;
    case ATH_ACTION_WHEEL_UP:
        cursor->at = within(cursor->at - ATH_WHEEL_ROWS, count);
        break;
    case ATH_ACTION_WHEEL_DOWN:
        cursor->at = within(cursor->at + ATH_WHEEL_ROWS, count);
        break;
    case ATH_ACTION_PAGE_UP:
        cursor->at = within(cursor->at - cursor->page, count);
        break;
    case ATH_ACTION_PAGE_DOWN:
        cursor->at = within(cursor->at + cursor->page, count);
        break;
    case ATH_ACTION_FIRST:
        cursor->at = 0;
        break;
    case ATH_ACTION_LAST:
        cursor->at = within(count - 1, count);
        break;
    default:
        break;
    }
    return false;
}

bool ath_cursor_click(struct ath_cursor *cursor, int row, int count)
{
    int index = cursor->first + row - cursor->row, before = cursor->at;

    if (row < cursor->row || row >= cursor->row + cursor->page || index >= count)
        return false;
    cursor->number = 0;
    cursor->at = index;
    return index == before;
}
