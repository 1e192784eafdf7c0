// What channels.cu takes from CUDA, on the CPU: the threads of a block are contexts that take turns, each until the next
// barrier, from the first to the last and then from the last to the first, so that a missing barrier shows.

#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using std::min;

#define __device__
#define __forceinline__ inline
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)

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
static Index threadIdx, blockIdx;
static ucontext_t scheduler, contexts[BLOCK];
static bool is_done[BLOCK];

static void __syncthreads() { swapcontext(&contexts[threadIdx.x], &scheduler); }

typedef void (*Body)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                     std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);
static Body body;
static const std::uint64_t* given;

static void run_thread() {
    const std::uint64_t* a = given;
    body(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);  // A kernel with fewer ignores the rest.
    is_done[threadIdx.x] = true;
}

extern "C" void launch_blocks(Body kernel, unsigned blocks, const std::uint64_t* arguments) {
    constexpr std::size_t kStack = 1 << 16;
    std::vector<char> stacks(BLOCK * kStack);
    body = kernel, given = arguments;
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
