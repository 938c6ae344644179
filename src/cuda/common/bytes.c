/* Sizes of attributes and of module images. */
#include "config.h"

#include "cuda/common/bytes.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

size_t ath_cuda_bytes_of_pool_attribute(CUmemPool_attribute attribute)
{
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return sizeof(int);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return sizeof(uint64_t);
    default:
        return 0;
    }
}

size_t ath_cuda_bytes_of_pointer_attribute(CUpointer_attribute attribute)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return sizeof(uint64_t);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return sizeof(int);
    default:
        return 0;
    }
}

size_t ath_cuda_bytes_of_format(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

/* The wrapper that nvcc puts around a fat binary in a program (fatbinary_section.h of the toolkit).
 *  */
struct wrapper {
    uint32_t magic, version;
    const void *image;
    void *more;
};

/* The head of a fat binary (measured with CUDA 13.0: fatbinary and cuobjdump agree). */
struct fat_binary {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes; /* behind the head */
};

enum { WRAPPER_MAGIC = 0x466243b1, WRAPPER_OF_LIST = 2 };
#define FAT_BINARY_MAGIC 0xba55ed50u

/* Returns whether an image begins with a number. Text may be shorter than the number: it is read up
 * to its NUL byte only. */
static bool begins_with(const void *image, uint32_t magic)
{
    return !strncmp(image, (const char *)&magic, sizeof magic);
}

const void *ath_cuda_unwrapped_image(const void *image)
{
    struct wrapper wrapper;
    if (!begins_with(image, WRAPPER_MAGIC))
        return image;
    memcpy(&wrapper, image, sizeof wrapper);
    return wrapper.image;
}

const void *const *ath_cuda_prelinked_images(const void *image)
{
    struct wrapper wrapper;
    if (!begins_with(image, WRAPPER_MAGIC))
        return NULL;
    memcpy(&wrapper, image, sizeof wrapper);
    return wrapper.version == WRAPPER_OF_LIST ? wrapper.more : NULL;
}

void ath_cuda_wrap_images(void *wrapper, const void *image, const void *const *prelinked)
{
    const struct wrapper made = { WRAPPER_MAGIC, WRAPPER_OF_LIST, image,
                                  (void *)(uintptr_t)prelinked };
    _Static_assert(sizeof made == ATH_CUDA_WRAPPER_BYTES, "as nvcc has it");
    memcpy(wrapper, &made, sizeof made);
}

/* An ELF file ends with the last of its headers or sections. */
static size_t bytes_of_elf(const unsigned char *image)
{
    Elf64_Ehdr head;
    memcpy(&head, image, sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    uint64_t end = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
    uint64_t programs = head.e_phoff + (uint64_t)head.e_phnum * head.e_phentsize;
    end = programs > end ? programs : end;
    for (unsigned int i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, image + head.e_shoff + (size_t)i * head.e_shentsize, sizeof section);
        uint64_t section_end = section.sh_offset + section.sh_size;
        if (section.sh_type != SHT_NOBITS && section_end > end)
            end = section_end;
    }
    return (size_t)end;
}

/* PTX is text: its first word is a directive behind blanks and comments. */
static size_t bytes_of_text(const char *image)
{
    for (const char *at = image; *at; at++)
        if ((unsigned char)*at < ' ' && !strchr("\t\n\r\f\v", *at))
            return 0;
    return strlen(image) + 1; /* the driver explains in its log why it does not take an empty one */
}

size_t ath_cuda_bytes_of_image(const void *image)
{
    if (!image || !(image = ath_cuda_unwrapped_image(image)))
        return 0;
    struct fat_binary fat;
    if (begins_with(image, FAT_BINARY_MAGIC)) {
        memcpy(&fat, image, sizeof fat);
        return fat.head_bytes + (size_t)fat.bytes;
    }
    if (!strncmp(image, ELFMAG, SELFMAG))
        return bytes_of_elf(image);
    return bytes_of_text(image);
}

/* The head of an entry in a fat binary (measured as above). */
struct fat_entry {
    uint16_t kind, version;
    uint32_t head_bytes;
    uint64_t bytes; /* behind the head */
    uint32_t unknown[3], capability;
};

bool ath_cuda_has_code_for(const void *image, unsigned int capability)
{
    enum { KIND_ELF = 2 };
    struct fat_binary fat;
    struct fat_entry entry;
    if (!image || !(image = ath_cuda_unwrapped_image(image)) ||
        !begins_with(image, FAT_BINARY_MAGIC))
        return false;
    memcpy(&fat, image, sizeof fat);
    const unsigned char *at = (const unsigned char *)image + fat.head_bytes;
    for (uint64_t left = fat.bytes; left >= sizeof entry;) {
        memcpy(&entry, at, sizeof entry);
        if (entry.kind == KIND_ELF && entry.capability == capability)
            return true;
        uint64_t bytes = entry.head_bytes + entry.bytes;
        if (entry.head_bytes < sizeof entry || bytes < entry.bytes || bytes > left)
            return false;
        at += bytes;
        left -= bytes;
    }
    return false;
}

/* ---- images from clients ---- */

static bool lies_within(uint64_t offset, uint64_t bytes, size_t length)
{
    return offset <= length && bytes <= length - offset;
}

static bool is_whole_elf(const unsigned char *image, size_t length)
{
    Elf64_Ehdr head;
    if (length < sizeof head)
        return false;
    memcpy(&head, image, sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 ||
        (head.e_shnum && head.e_shentsize != sizeof(Elf64_Shdr)) ||
        !lies_within(head.e_shoff, (uint64_t)head.e_shnum * head.e_shentsize, length) ||
        !lies_within(head.e_phoff, (uint64_t)head.e_phnum * head.e_phentsize, length))
        return false;
    for (unsigned int i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, image + head.e_shoff + (size_t)i * sizeof section, sizeof section);
        if (section.sh_type != SHT_NOBITS &&
            !lies_within(section.sh_offset, section.sh_size, length))
            return false;
    }
    return true;
}

bool ath_cuda_is_whole_image(const void *image, size_t length)
{
    struct fat_binary fat = { 0 };
    if (!image || !length)
        return false;
    memcpy(&fat.magic, image, length < sizeof fat.magic ? length : sizeof fat.magic);
    if (fat.magic == WRAPPER_MAGIC)
        return false;
    if (fat.magic == FAT_BINARY_MAGIC) {
        if (length < sizeof fat)
            return false;
        memcpy(&fat, image, sizeof fat);
        return lies_within(fat.head_bytes, fat.bytes, length);
    }
    if (!memcmp(&fat.magic, ELFMAG, SELFMAG))
        return is_whole_elf(image, length);
    return memchr(image, '\0', length);
}
