/*
 * Faults of simulated devices, as NVML tells them. AITHERION_SIM_FAULTS lists them: the device, the
 * fault and its value. "0:ecc_uncorrected=3,1:throttle=0x40" is a device 0 with three errors and a
 * device 1 that is too hot.
 *
 *     lost            the driver does not reach the device (NVML_ERROR_GPU_IS_LOST); 1: it gives no
 *                     handle; 2: a question fails, as if it was lost after that
 *     recovery        action that the driver asks for: 1 reset, 2 restart of the machine
 *     xid             an Xid that each event set gets once
 *     rows_remapped, rows_pending, rows_failed
 *                     rows of the memory that were remapped; 1: one waits; 1: one could not be
 *     pages_retired, pages_pending
 *                     the same of GPUs before Ampere (not supported unless given)
 *     ecc_uncorrected, ecc_uncorrected_ever, ecc_corrected
 *                     memory errors since the driver was loaded, in the device's life, corrected
 *     throttle        bits of nvmlClocksEventReasons
 *     temperature     degrees Celsius (30); the device slows down at 90
 *     links_down      the first so many NVLinks do not work
 *     pcie_width      lanes (16 of 16)
 *     pcie_gen        generation (5 of 5)
 *     pstate          performance state (0)
 */
#pragma once

enum sim_fault {
    SIM_FAULT_LOST,
    SIM_FAULT_RECOVERY,
    SIM_FAULT_XID,
    SIM_FAULT_ROWS_REMAPPED,
    SIM_FAULT_ROWS_PENDING,
    SIM_FAULT_ROWS_FAILED,
    SIM_FAULT_PAGES_RETIRED,
    SIM_FAULT_PAGES_PENDING,
    SIM_FAULT_ECC_UNCORRECTED,
    SIM_FAULT_ECC_UNCORRECTED_EVER,
    SIM_FAULT_ECC_CORRECTED,
    SIM_FAULT_THROTTLE,
    SIM_FAULT_TEMPERATURE,
    SIM_FAULT_LINKS_DOWN,
    SIM_FAULT_PCIE_WIDTH,
    SIM_FAULT_PCIE_GEN,
    SIM_FAULT_PSTATE,
    SIM_FAULT_COUNT
};

enum { SIM_LOST_AT_ONCE = 1 };

/* Returns the value of a fault of a device by its number, or what a sound device says. */
long long sim_fault(int device, enum sim_fault fault);
