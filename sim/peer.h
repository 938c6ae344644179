/*
 * Other processes of the same user may ask this process for memory of the simulator.
 *
 * Descriptors: the caller owns them.
 */
#pragma once
#include "sim/sim.h"

enum { SIM_PEER_NAME = 6 /* bytes of an abstract socket's name */ };

/* Returns the name of the socket for that, which the first call makes. Returns false on failure. */
bool sim_peer_name(char out[SIM_PEER_NAME]);
/* Opens the file of a descriptor of the process that has this socket. Returns a descriptor, or -1
 * on failure. */
int sim_peer_open(const char name[SIM_PEER_NAME], int fd);
