/* Lists of parts of bytes, as readv(2) and sendmsg(2) have them. */
#pragma once
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Skips bytes of a message's parts that were sent, and empty parts. Changes the parts. */
void ath_parts_skip(struct msghdr *message, size_t sent);

/* Writes to out the parts that have the bytes from..to of parts. Returns their number, at most
 * count. */
size_t ath_parts_cut(const struct iovec *parts, size_t count, size_t from, size_t to,
                     struct iovec *out);
