/* The table of compute capabilities. */
#include "config.h"

#include "place/capability.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/unknown.h"
#include "numa/machine.h"

/* The device ids of a chip lie in one block (pci.ids); the numbers are those of NVIDIA's list of
 * CUDA GPUs (CUDA C++ Programming Guide, compute capabilities). */
static const struct {
    int first, last, capability;
} chips[] = {
    { 0x15f0, 0x15ff, 60 }, /* GP100: Tesla P100 */
    { 0x1d80, 0x1dff, 70 }, /* GV100: Tesla V100 */
    { 0x1e80, 0x1eff, 75 }, /* TU104: T4 */
    { 0x2080, 0x20ff, 80 }, /* GA100: A100, A30 */
    { 0x2200, 0x223f, 86 }, /* GA102: RTX 3090, A40, A10 */
    { 0x2300, 0x23ff, 90 }, /* GH100: H100, H200, GH200 */
    { 0x2680, 0x26ff, 89 }, /* AD102: RTX 4090, L40S */
    { 0x2780, 0x27ff, 89 }, /* AD104: L4 */
};

int ath_compute_capability(int vendor_id, int device_id)
{
    for (size_t i = 0; i < ATH_COUNT(chips) && vendor_id == ATH_VENDOR_NVIDIA; i++)
        if (device_id >= chips[i].first && device_id <= chips[i].last)
            return chips[i].capability;
    return ATH_UNKNOWN;
}
