/* Finds the chip of a GPU by its device id, else by its model in the table. */
#include "config.h"

#include "place/chip.h"

#include <string.h>

#include "base/alloc.h"

/* A word of the model's name ("Tesla V100-SXM2-32GB"), and the first id of the chip (pci.ids). */
static const struct {
    const char *word;
    int device_id;
} chips[] = {
    { "P100", 0x15f0 },  { "V100", 0x1d80 }, { "V100S", 0x1d80 }, { "A100", 0x2080 },
    { "A800", 0x2080 },  { "A30", 0x2080 },  { "A40", 0x2230 },   { "A6000", 0x2230 },
    { "H100", 0x2300 },  { "H800", 0x2300 }, { "H200", 0x2300 },  { "H20", 0x2300 },
    { "GH200", 0x2300 }, { "B200", 0x2900 }, { "GB200", 0x2900 }, { "B300", 0x3180 },
    { "GB300", 0x3180 },
};

int ath_gpu_chip(const struct ath_gpu *gpu)
{
    static const char ends[] = " -";

    if (gpu->device_id != ATH_UNKNOWN || gpu->vendor_id != ATH_VENDOR_NVIDIA)
        return gpu->device_id;
    for (const char *word = gpu->model; word && *word; word += strspn(word, ends)) {
        size_t length = strcspn(word, ends);
        for (size_t i = 0; i < ATH_COUNT(chips); i++)
            if (strlen(chips[i].word) == length && !strncmp(word, chips[i].word, length))
                return chips[i].device_id;
        word += length;
    }
    return ATH_UNKNOWN;
}
