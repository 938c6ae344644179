/* Kernels: their stacks, heap and printf() buffer, and the local memory that they need. */
#include "config.h"

#include "runtime/quota/kernels.h"

#include "runtime/quota/context_memory.h"
#include "runtime/quota/session_quota.h"
#include "runtime/quota/wrappers.h"

CUresult ath_quota_cuCtxSetLimit(CUlimit limit, size_t value)
{
    uint64_t old, unused;
    CUresult status = ath_context_memory_set_limit(limit, value, &old);
    if (status)
        return status;
    status = ath_quota.driver.cuCtxSetLimit(limit, value);
    if (status)
        ath_context_memory_set_limit(limit, old, &unused);
    return status;
}

CUresult ath_kernels_count_function(CUfunction function)
{
    int bytes = 0;
    if (!ath_quota.driver.cuFuncGetAttribute ||
        ath_quota.driver.cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) ||
        bytes <= 0)
        return CUDA_SUCCESS;
    return ath_context_memory_need_local((uint64_t)bytes, false);
}

CUresult ath_kernels_count_kernel(CUkernel kernel, CUdevice device)
{
    int bytes = 0;
    if (!ath_quota.driver.cuKernelGetAttribute ||
        ath_quota.driver.cuKernelGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel,
                                              device) ||
        bytes <= 0)
        return CUDA_SUCCESS;
    return ath_context_memory_need_local((uint64_t)bytes, true);
}

CUresult ath_quota_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult status = ath_quota.driver.cuModuleGetFunction(function, module, name);
    return status ? status : ath_kernels_count_function(*function);
}

CUresult ath_quota_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count,
                                              CUmodule module)
{
    unsigned int exist = count;
    CUresult status = ath_quota.driver.cuModuleEnumerateFunctions(functions, count, module);
    if (!status && ath_quota.driver.cuModuleGetFunctionCount)
        ath_quota.driver.cuModuleGetFunctionCount(&exist, module);
    for (unsigned int i = 0; !status && i < ath_kernels_filled(count, exist); i++)
        status = ath_kernels_count_function(functions[i]);
    return status;
}
