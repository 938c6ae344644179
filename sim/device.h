/* The simulated devices, and the account of each one's memory. */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_pool;

struct sim_device {
    size_t total_bytes, used_bytes;
    struct sim_context *primary; /* lives to the end of the process */
    unsigned int primary_refs;
    struct sim_pool *default_pool, *current_pool;
};

CUresult sim_init(unsigned int flags);
int sim_device_count(void);
/* Returns a device, or NULL if there is none with this number. */
struct sim_device *sim_device(int number);
int sim_device_number(int device); /* as facts.h counts; the device must exist */

/* Returns 0, or the error of a call that needs the driver, but no context. */
CUresult sim_enter_driver(void);
/* The same for a call that needs a device. */
CUresult sim_enter_device(int number, struct sim_device **out);

bool sim_charge(int device, size_t bytes); /* false: the device has too little */
void sim_discharge(int device, size_t bytes);
