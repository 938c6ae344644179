/* Uploads images of code in parts. */
#include "config.h"

#include "cuda/client/code_image.h"

#include <stdatomic.h>

#include "cuda/client/client.h"
#include "proto/cuda-wire.h"

enum { PART = 16 * 1024 * 1024 };

CUresult ath_cuda_upload_image(struct ath_cuda_sent_image *image, bool is_posted)
{
    static atomic_ullong last_id;
    uint64_t id = ++last_id;
    CUresult status = CUDA_SUCCESS;
    for (size_t done = 0, part; !status && done < image->length; done += part) {
        struct ath_cuda_exchange exchange;
        part = image->length - done < PART ? image->length - done : PART;
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athUploadImage);
        if (status)
            break;
        struct ath_cuda_wire_upload_image_builder call =
            ath_cuda_wire_call_init_upload_image(exchange.call);
        ath_cuda_wire_upload_image_set_id(call, id);
        ath_cuda_wire_upload_image_set_offset(call, done);
        ath_cuda_wire_upload_image_set_total(call, image->length);
        ath_cuda_wire_upload_image_set_data(
            call, (struct ath_wire_bytes){ (const uint8_t *)image->bytes + done, part });
        status =
            ath_cuda_end(&exchange, is_posted ? ath_cuda_post(&exchange) : ath_cuda_ask(&exchange));
    }
    if (!status)
        image->uploaded = id;
    return status;
}

void ath_cuda_put_image(struct ath_cuda_wire_image_builder to,
                        const struct ath_cuda_sent_image *image)
{
    ath_cuda_wire_image_set_uploaded(to, image->uploaded);
    if (!image->uploaded)
        ath_cuda_wire_image_set_data(to, (struct ath_wire_bytes){ image->bytes, image->length });
}
