/*
 * CRC-32C by the processor's instruction (SSE4.2, ARMv8's CRC32), otherwise by tables, eight bytes
 * at a time. POWER has only a multiplication without carry for it, and uses the tables.
 *
 * The instruction has a latency of three cycles but one can begin in each cycle, so long inputs are
 * summed as three blocks side by side. A table moves the sum of one block over the length of
 * the next one.
 */
#include "config.h"

#include "remote/udp/crc32c.h"

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#if defined __x86_64__
#include <nmmintrin.h>
#define HAS_INSTRUCTION 1
#define WITH_INSTRUCTION __attribute__((target("sse4.2")))
#define ADD_WORD(sum, word) ((uint32_t)_mm_crc32_u64(sum, word))
#define ADD_BYTE(sum, byte) _mm_crc32_u8(sum, byte)
#elif defined __aarch64__
#include <arm_acle.h>
#include <sys/auxv.h>
#define HAS_INSTRUCTION 1
#define WITH_INSTRUCTION __attribute__((target("+crc")))
#define ADD_WORD(sum, word) __crc32cd(sum, word)
#define ADD_BYTE(sum, byte) __crc32cb(sum, byte)
#endif

enum { WORD = 8, BLOCK = 1024 };

static const uint32_t polynomial = 0x82f63b78; /* bits reversed */

static uint32_t words[WORD][256]; /* [n][b]: the sum of byte b and n zero bytes */

static uint32_t load_32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return le32toh(value);
}

static void make_words(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? polynomial : 0);
        words[0][byte] = sum;
    }
    for (int zeros = 1; zeros < WORD; zeros++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t sum = words[zeros - 1][byte];
            words[zeros][byte] = sum >> 8 ^ words[0][sum & 0xff];
        }
}

static uint32_t add_by_tables(uint32_t sum, const uint8_t *bytes, size_t length)
{
    for (; length >= WORD; bytes += WORD, length -= WORD) {
        uint32_t low = sum ^ load_32(bytes), high = load_32(bytes + 4);
        sum = words[7][low & 0xff] ^ words[6][low >> 8 & 0xff] ^ words[5][low >> 16 & 0xff] ^
              words[4][low >> 24] ^ words[3][high & 0xff] ^ words[2][high >> 8 & 0xff] ^
              words[1][high >> 16 & 0xff] ^ words[0][high >> 24];
    }
    for (; length; length--)
        sum = sum >> 8 ^ words[0][(sum ^ *bytes++) & 0xff];
    return sum;
}

#ifdef HAS_INSTRUCTION
static bool has_instruction;
static uint32_t over_block[4][256]; /* [n][b]: byte n of a sum is b, and BLOCK zero bytes follow */

static void make_over_block(void)
{
    static const uint8_t zeros[BLOCK];
    for (int place = 0; place < 4; place++)
        for (uint32_t byte = 0; byte < 256; byte++)
            over_block[place][byte] = add_by_tables(byte << 8 * place, zeros, sizeof zeros);
}

static bool find_instruction(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("sse4.2");
#else
    return getauxval(AT_HWCAP) & 1 << 7; /* HWCAP_CRC32 */
#endif
}

static uint32_t move_over_block(uint32_t sum)
{
    return over_block[0][sum & 0xff] ^ over_block[1][sum >> 8 & 0xff] ^
           over_block[2][sum >> 16 & 0xff] ^ over_block[3][sum >> 24];
}

static uint64_t load_64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

WITH_INSTRUCTION static uint32_t add_three_blocks(uint32_t sum, const uint8_t *bytes)
{
    uint32_t second = 0, third = 0;
    for (size_t at = 0; at < BLOCK; at += WORD) {
        sum = ADD_WORD(sum, load_64(bytes + at));
        second = ADD_WORD(second, load_64(bytes + BLOCK + at));
        third = ADD_WORD(third, load_64(bytes + 2 * (size_t)BLOCK + at));
    }
    return move_over_block(move_over_block(sum) ^ second) ^ third;
}

WITH_INSTRUCTION static uint32_t add(uint32_t sum, const uint8_t *bytes, size_t length)
{
    for (; length >= 3 * (size_t)BLOCK; bytes += 3 * (size_t)BLOCK, length -= 3 * (size_t)BLOCK)
        sum = add_three_blocks(sum, bytes);
    for (; length >= WORD; bytes += WORD, length -= WORD)
        sum = ADD_WORD(sum, load_64(bytes));
    for (; length; length--)
        sum = ADD_BYTE(sum, *bytes++);
    return sum;
}
#endif

static void prepare(void)
{
    make_words();
#ifdef HAS_INSTRUCTION
    make_over_block();
    has_instruction = find_instruction();
#endif
}

static void prepare_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}

uint32_t ath_crc32c_by_tables(uint32_t sum, const void *bytes, size_t length)
{
    prepare_once();
    return ~add_by_tables(~sum, bytes, length);
}

uint32_t ath_crc32c(uint32_t sum, const void *bytes, size_t length)
{
    prepare_once();
#ifdef HAS_INSTRUCTION
    if (has_instruction)
        return ~add(~sum, bytes, length);
#endif
    return ~add_by_tables(~sum, bytes, length);
}
