/*
 * The pinned rooms of a session's large calls and answers: what the client copies to the GPU is
 * received in a room, and what comes from the GPU is sent from one. There are a few. A room that
 * the GPU still reads is not handed out. Any thread.
 */
#pragma once
#include <stdbool.h>

#include "cuda/server/pinned_room.h"
#include "cuda/server/served_call.h"
#include "remote/wire/frame.h"

/* Takes a room for so many bytes. Returns NULL if they are too few or too many for a room, or if
 * all rooms are in use. */
struct ath_pinned_room *ath_call_room_take(size_t bytes);

/* Returns a room. NULL is allowed. */
void ath_call_room_put(struct ath_pinned_room *room);

/* The taken room that an address lies in, or the room of the shield that it lies in; NULL if there
 * is none. */
struct ath_pinned_room *ath_call_room_of(const void *address);

/*
 * Has a message that was read into a room be read where no kernel of the client can write: a
 * message must not change between its check and its use. Called before the first look at it. The
 * data that a copy takes stay in the room; other calls are copied as a whole.
 */
void ath_call_room_shield(struct ath_frame *frame);

/* Returns the address in the room of data that lie in it or in its shield. */
const void *ath_call_room_data(const struct ath_pinned_room *room, const void *address);

/* Registers a taken room with the driver, except for the room's first use, which is not worth the
 * time, and while a stream captures, which registering could break. Returns whether the room is
 * registered. */
bool ath_call_room_pin(struct ath_pinned_room *room, const struct ath_cuda_served *served);

/* Leaves the room that an address lies in to the GPU, which may still write it: a wait for the
 * stream has failed. Nothing is done if it lies in none. */
void ath_call_room_leave(const void *address, const struct ath_cuda_served *served,
                         CUstream stream);

/* Gives a frame the memory of a room, if there is one for so many bytes. */
void ath_call_room_lay(struct ath_frame *frame, size_t bytes);

/* As ath_frame_free(), for a frame that may lie in a room. */
void ath_call_room_free_frame(struct ath_frame *frame);
