// What channels.cu takes from CUDA, on the CPU: the threads of a block are contexts that take turns, each until the next
// barrier, from the first to the last and then from the last to the first, so that who reads too early reads something
// else. Warps meet at every shuffle and product of bytes here, not only at barriers: who writes too early may not show.

#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using std::min;

#define __device__
#define __forceinline__ inline
#define __global__
#define __shared__ static
#define __launch_bounds__(threads, blocks)

struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

struct Index {
    unsigned x;
};
static Index threadIdx, blockIdx, gridDim;
static ucontext_t scheduler, contexts[BLOCK];
static bool is_done[BLOCK];

static void __syncthreads() { swapcontext(&contexts[threadIdx.x], &scheduler); }

// Lanes of a warp meet twice: when all have shown what they bring, and when all have taken what they need.
static unsigned shown[BLOCK];

static unsigned __shfl_sync(unsigned, unsigned value, int from) {
    shown[threadIdx.x] = value;
    __syncthreads();
    const unsigned result = shown[threadIdx.x / 32 * 32 + from];
    __syncthreads();
    return result;
}
static unsigned __shfl_xor_sync(unsigned mask, unsigned value, int bits) {
    return __shfl_sync(mask, value, static_cast<int>(threadIdx.x % 32) ^ bits);
}

// The tensor cores' product of a 16 x 32 with a 32 x 8 matrix of bytes, as NVIDIA documents who holds what: lane 4 g +
// t has, in four registers, columns 4 t ... 4 t + 3 of rows g and g + 8 of the left matrix, then the same of columns 16
// higher; rows 4 t ... 4 t + 3 of column g of the right one, then rows 16 higher; and columns 2 t, 2 t + 1 of rows g
// and g + 8 of the sum.
static unsigned left_shown[BLOCK][4], right_shown[BLOCK][2];

inline unsigned byte_of(unsigned value, int index) { return value >> (8 * index) & 0xff; }

static void emulated_multiply_bytes(int (&sums)[4], const uint4& left, unsigned right, unsigned other_right) {
    const unsigned lefts[4] = {left.x, left.y, left.z, left.w}, rights[2] = {right, other_right};
    std::copy(lefts, lefts + 4, left_shown[threadIdx.x]);
    std::copy(rights, rights + 2, right_shown[threadIdx.x]);
    __syncthreads();
    const unsigned first = threadIdx.x / 32 * 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int i = 0; i < 4; ++i) {
        const int is_lower = i / 2, column = static_cast<int>(2 * t) + i % 2;
        for (int k = 0; k < 32; ++k) {
            const unsigned of_left = left_shown[first + 4 * g + k % 16 / 4][k / 16 * 2 + is_lower];
            const unsigned of_right = right_shown[first + 4 * column + k % 16 / 4][k / 16];
            sums[i] += static_cast<int>(byte_of(of_left, k % 4) * byte_of(of_right, k % 4));
        }
    }
    __syncthreads();
}

typedef void (*Body)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                     std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);
static Body body;
static const std::uint64_t* given;

static void run_thread() {
    const std::uint64_t* a = given;
    body(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);  // A kernel with fewer ignores the rest.
    is_done[threadIdx.x] = true;
}

extern "C" void launch_blocks(Body kernel, unsigned blocks, const std::uint64_t* arguments) {
    constexpr std::size_t kStack = 1 << 16;
    std::vector<char> stacks(BLOCK * kStack);
    body = kernel, given = arguments, gridDim.x = blocks;
    for (blockIdx.x = blocks; blockIdx.x-- > 0;) {
        for (unsigned t = 0; t < BLOCK; ++t) {
            getcontext(&contexts[t]);
            contexts[t].uc_stack.ss_sp = stacks.data() + t * kStack;
            contexts[t].uc_stack.ss_size = kStack;
            contexts[t].uc_link = &scheduler;
            makecontext(&contexts[t], run_thread, 0);
            is_done[t] = false;
        }
        for (bool is_forward = true; std::find(is_done, is_done + BLOCK, false) != is_done + BLOCK;
             is_forward = !is_forward) {
            for (unsigned i = 0; i < BLOCK; ++i) {
                threadIdx.x = is_forward ? i : BLOCK - 1 - i;
                if (!is_done[threadIdx.x]) swapcontext(&scheduler, &contexts[threadIdx.x]);
            }
        }
    }
}
