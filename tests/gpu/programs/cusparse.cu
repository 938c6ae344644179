/* cuSPARSE: products with matrices that are mostly zeros. */
#include <cusparse.h>

#include "test.cuh"

#define sparse_ok(call)                                                                            \
    do {                                                                                           \
        cusparseStatus_t got_ = (call);                                                            \
        if (got_ != CUSPARSE_STATUS_SUCCESS)                                                       \
            fail("%s: %s", #call, cusparseGetErrorName(got_));                                     \
    } while (0)

enum { N = 10000, ENTRIES = 3 * N - 2 };

/* The second difference: -1 2 -1 in each row. */
struct matrix {
    int *rows = on_device<int>(N + 1), *columns = on_device<int>(ENTRIES);
    float *values = on_device<float>(ENTRIES);
    cusparseSpMatDescr_t about;

    matrix()
    {
        std::vector<int> begin, in;
        std::vector<float> is;
        for (int i = 0; i < N; i++) {
            begin.push_back((int)in.size());
            for (int j = i ? i - 1 : 0; j <= i + 1 && j < N; j++) {
                in.push_back(j);
                is.push_back(i == j ? 2.0f : -1.0f);
            }
        }
        begin.push_back((int)in.size());
        check(in.size() == ENTRIES);
        ok(cudaMemcpy(rows, begin.data(), begin.size() * 4, cudaMemcpyHostToDevice));
        ok(cudaMemcpy(columns, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
        ok(cudaMemcpy(values, is.data(), is.size() * 4, cudaMemcpyHostToDevice));
        sparse_ok(cusparseCreateCsr(&about, N, N, ENTRIES, rows, columns, values,
                                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                    CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    }
};

static float *squares()
{
    std::vector<float> values(N);
    for (size_t i = 0; i < N; i++)
        values[i] = (float)(i * i % 4096);
    float *device = on_device<float>(N);
    ok(cudaMemcpy(device, values.data(), N * 4, cudaMemcpyHostToDevice));
    return device;
}

static cusparseHandle_t begun()
{
    cusparseHandle_t handle;
    needs_a_gpu();
    sparse_ok(cusparseCreate(&handle));
    return handle;
}

static void by_a_vector()
{
    cusparseHandle_t handle = begun();
    matrix a;
    float *x = squares(), *y = on_device<float>(N), one = 1, zero = 0;
    cusparseDnVecDescr_t of_x, of_y;
    size_t bytes;
    sparse_ok(cusparseCreateDnVec(&of_x, N, x, CUDA_R_32F));
    sparse_ok(cusparseCreateDnVec(&of_y, N, y, CUDA_R_32F));
    sparse_ok(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.about, of_x,
                                      &zero, of_y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2, &bytes));
    char *memory = on_device<char>(bytes + 1);
    sparse_ok(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.about, of_x, &zero,
                           of_y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2, memory));
    std::vector<float> in = read(x, N), got = read(y, N);
    for (size_t i = 1; i + 1 < N; i++)
        check(got[i] == 2 * in[i] - in[i - 1] - in[i + 1]);
    sparse_ok(cusparseDestroy(handle));
}

static void by_a_matrix()
{
    enum { COLUMNS = 8 };
    cusparseHandle_t handle = begun();
    matrix a;
    float *x = on_device<float>(N * COLUMNS), *y = on_device<float>(N * COLUMNS), one = 1, zero = 0;
    std::vector<float> in(N * COLUMNS);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (float)(i % 101);
    ok(cudaMemcpy(x, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
    cusparseDnMatDescr_t of_x, of_y;
    size_t bytes;
    sparse_ok(cusparseCreateDnMat(&of_x, N, COLUMNS, COLUMNS, x, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    sparse_ok(cusparseCreateDnMat(&of_y, N, COLUMNS, COLUMNS, y, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    sparse_ok(cusparseSpMM_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                      CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.about, of_x, &zero,
                                      of_y, CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, &bytes));
    char *memory = on_device<char>(bytes + 1);
    sparse_ok(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                           CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.about, of_x, &zero, of_y,
                           CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2, memory));
    std::vector<float> got = read(y, N * COLUMNS);
    for (size_t i = COLUMNS; i + COLUMNS < got.size(); i++)
        check(got[i] == 2 * in[i] - in[i - COLUMNS] - in[i + COLUMNS]);
}

static void made_dense()
{
    enum { FEW = 64 };
    cusparseHandle_t handle = begun();
    std::vector<float> in(FEW * FEW);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = i % 7 ? 0 : (float)i;
    float *dense = on_device<float>(in.size()), *back = on_device<float>(in.size());
    int *rows = on_device<int>(FEW + 1);
    ok(cudaMemcpy(dense, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
    cusparseDnMatDescr_t from, to;
    cusparseSpMatDescr_t sparse;
    size_t bytes;
    int64_t height, width, entries;
    sparse_ok(cusparseCreateDnMat(&from, FEW, FEW, FEW, dense, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    sparse_ok(cusparseCreateDnMat(&to, FEW, FEW, FEW, back, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    sparse_ok(cusparseCreateCsr(&sparse, FEW, FEW, 0, rows, nullptr, nullptr, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    sparse_ok(cusparseDenseToSparse_bufferSize(handle, from, sparse,
                                               CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &bytes));
    char *memory = on_device<char>(bytes + 1);
    sparse_ok(cusparseDenseToSparse_analysis(handle, from, sparse,
                                             CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, memory));
    sparse_ok(cusparseSpMatGetSize(sparse, &height, &width, &entries));
    check(entries == (int64_t)(in.size() - 1) / 7); /* the first is a zero too */
    sparse_ok(cusparseCsrSetPointers(sparse, rows, on_device<int>((size_t)entries),
                                     on_device<float>((size_t)entries)));
    sparse_ok(cusparseDenseToSparse_convert(handle, from, sparse,
                                            CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, memory));
    sparse_ok(cusparseSparseToDense_bufferSize(handle, sparse, to,
                                               CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &bytes));
    sparse_ok(cusparseSparseToDense(handle, sparse, to, CUSPARSE_SPARSETODENSE_ALG_DEFAULT,
                                    on_device<char>(bytes + 1)));
    check(read(back, in.size()) == in);
}

static const test tests[] = {
    { "by a vector", by_a_vector },
    { "by a matrix", by_a_matrix },
    { "dense and back", made_dense },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
