/* The devices that CUDA_VISIBLE_DEVICES chooses, by CUDA's rules. */
#include "config.h"

#include "remote/session/visible_devices.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "unit.h"

/* The order by PCI address is 2, 0, 1. */
static const struct ath_devices devices = {
    .items = { { .pci = "0000:40:00.0", .uuid = "GPU-aaaa1111-0000" },
               { .pci = "0000:80:00.0", .uuid = "GPU-aaaa2222-0000" },
               { .pci = "0000:08:00.0", .uuid = "GPU-bbbb3333-0000" } },
    .count = 3,
};

static const struct {
    const char *wanted;
    bool by_pci;
    const char *places; /* of the chosen devices in the list */
} choices[] = {
    { NULL, false, "0 1 2" },
    { NULL, true, "2 0 1" },
    { "", false, "" },
    { "2,0", false, "2 0" },
    { "2,0", true, "1 2" },
    { " 1 , 2 ", false, "1 2" },
    /* The list ends at the first word that names no device. */
    { "1,3,2", false, "1" },
    { "1,-1,2", false, "1" },
    { "1,x,2", false, "1" },
    { "1,,2", false, "1" },
    { "GPU-cccc,1", false, "" },
    { "gpu-bbbb,1", false, "" },
    { "MIG-bbbb,1", false, "" },
    /* A UUID or the beginning of exactly one UUID names a device, with either order. */
    { "GPU-aaaa2222-0000,GPU-aaaa1111-0000", false, "1 0" },
    { "GPU-aaaa2,GPU-b", true, "1 2" },
    { "GPU-bbbb3333-00001", false, "" },
    { "2,GPU-aaaa,1", false, "2" },
    { "2,GPU-,1", false, "2" },
    /* The list ends at a device that it names again. */
    { "0,1,0,2", false, "0 1" },
    { "2,GPU-bbbb,0", false, "2" },
};

LOOP_TEST(a_list_chooses_devices, 0, ATH_COUNT(choices))
{
    ATH_AUTO(ath_text) text = { 0 };
    size_t places[ATH_DEVICES_MAX];

    size_t count = ath_visible_devices(&devices, choices[_i].wanted, choices[_i].by_pci, places);
    ath_text_add(&text, "%s", "");
    for (size_t i = 0; i < count; i++)
        ath_text_add(&text, "%s%zu", i ? " " : "", places[i]);
    ck_assert_msg(!strcmp(text.data, choices[_i].places), "'%s' chooses %s", choices[_i].wanted,
                  text.data);
}

/* The driver gets a choice as UUIDs, and no choice if a chosen device has none. */
TEST(a_driver_gets_the_choice_by_uuids)
{
    static const size_t chosen[] = { 2, 0 };
    struct ath_devices nameless = devices;
    ath_auto_free char *two = ath_visible_value(&devices, chosen, 2);
    ath_auto_free char *none = ath_visible_value(&devices, chosen, 0);

    ck_assert_str_eq(two, "GPU-bbbb3333-0000,GPU-aaaa1111-0000");
    ck_assert_str_eq(none, "-1");
    nameless.items[0].uuid[0] = '\0';
    ck_assert_ptr_null(ath_visible_value(&nameless, chosen, 2));
}
