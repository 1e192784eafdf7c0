// What one lane of a group can do. A number lies across the THREADS lanes of a group, and a `word` is what each of them
// holds. On a GPU that is one 32-bit register per thread; elsewhere (EMULATED) it is all lanes of one group in an
// array, so that the arithmetic in numbers.h is compiled and tested unchanged where there is no GPU.

typedef unsigned long long offset_t;

#ifndef EMULATED

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)
#define UNROLLED _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
// Two pairs of rows at once save moves between registers modulo n^2; modulo n they cost some.
#if DEGREE == 2
#define LOOP _Pragma("unroll 2")
#else
#define LOOP ROLLED
#endif

typedef unsigned int word;

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kGroupsPerWarp = 32 / THREADS;

// Extended-precision instructions: _cc sets the carry flag, c reads it. Volatile keeps them in order.
#define TWO_OPERANDS(name, instruction)                                                     \
    DEVICE word name(word a, word b) {                                                      \
        word result;                                                                        \
        asm volatile(instruction " %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));           \
        return result;                                                                      \
    }
#define THREE_OPERANDS(name, instruction)                                                   \
    DEVICE word name(word a, word b, word c) {                                              \
        word result;                                                                        \
        asm volatile(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c)); \
        return result;                                                                      \
    }
TWO_OPERANDS(add_cc, "add.cc.u32")
TWO_OPERANDS(addc_cc, "addc.cc.u32")
TWO_OPERANDS(addc, "addc.u32")
TWO_OPERANDS(sub_cc, "sub.cc.u32")
TWO_OPERANDS(subc_cc, "subc.cc.u32")
TWO_OPERANDS(subc, "subc.u32")
THREE_OPERANDS(mad_lo_cc, "mad.lo.cc.u32")
THREE_OPERANDS(madc_lo_cc, "madc.lo.cc.u32")
THREE_OPERANDS(madc_hi_cc, "madc.hi.cc.u32")

DEVICE int lane_index() { return static_cast<int>(threadIdx.x) % THREADS; }
DEVICE word first_mask() { return lane_index() == 0 ? ~0u : 0u; }
DEVICE word last_mask() { return lane_index() == THREADS - 1 ? ~0u : 0u; }
DEVICE word from_first(word value) { return __shfl_sync(kAllLanes, value, 0, THREADS); }
DEVICE word from_last(word value) { return __shfl_sync(kAllLanes, value, THREADS - 1, THREADS); }
// Cyclic: the last lane's next one is the first.
DEVICE word from_next(word value) { return __shfl_sync(kAllLanes, value, (lane_index() + 1) % THREADS, THREADS); }
DEVICE word from_previous(word value) {
    return __shfl_sync(kAllLanes, value, (lane_index() + THREADS - 1) % THREADS, THREADS);
}
DEVICE word is_equal(word left, word right) { return left == right ? 1u : 0u; }

// Which lanes are reached by a carry, where a lane emits one if `generates`, and passes one on if `propagates`; both
// are 0 or 1. All lanes add up as the bits of two numbers do.
DEVICE word carries_in(word generates, word propagates) {
    const unsigned emitted = __ballot_sync(kAllLanes, generates) << 1, passed = __ballot_sync(kAllLanes, propagates);
    return ((emitted + passed) ^ passed) >> (threadIdx.x % 32) & 1u;
}

DEVICE word load_limb(const unsigned* number, int k) { return number[lane_index() * LANE_LIMBS + k]; }
DEVICE void store_limb(unsigned* number, int k, word value) { number[lane_index() * LANE_LIMBS + k] = value; }
// Beyond `size` there are zeros, and nothing is written.
DEVICE word load_limb_below(const unsigned* number, int first, int size, int k) {
    const int at = first + lane_index() * LANE_LIMBS + k;
    return at < size ? number[at] : 0u;
}
DEVICE void store_limb_below(unsigned* number, int first, int size, int k, word value) {
    const int at = first + lane_index() * LANE_LIMBS + k;
    if (at < size) number[at] = value;
}
DEVICE void store_uniform(unsigned* place, word value) {
    if (lane_index() == 0) *place = value;
}
DEVICE word uniform(unsigned value) { return value; }

// The digits of a multiplier, in shared memory: every lane of a group reads the same ones, one after the other.
// Those of a warp's groups are interleaved, so that its groups read from different banks.
struct Digits {
    uint2* pairs;
    DEVICE word first(int row) const { return pairs[row * kGroupsPerWarp].x; }
    DEVICE word second(int row) const { return pairs[row * kGroupsPerWarp].y; }
    DEVICE void put(int k, word first, word second) const {
        pairs[(lane_index() * LANE_LIMBS + k) * kGroupsPerWarp] = make_uint2(first, second);
    }
    // The row above all limbs.
    DEVICE void put_top(word first, word second) const {
        if (lane_index() == THREADS - 1) pairs[LIMBS * kGroupsPerWarp] = make_uint2(first, second);
    }
    DEVICE void wait() const { __syncwarp(); }
};

#define DIGITS_OF_THIS_GROUP                                                                              \
    __shared__ uint2 shared_pairs[BLOCK / 32][(LIMBS + 1) * kGroupsPerWarp];                              \
    const Digits digits = {shared_pairs[threadIdx.x / 32] + threadIdx.x % 32 / THREADS};

// Groups without work of their own repeat the last item, because all lanes of a warp must take part, and store nothing.
#define FOR_EACH_ITEM(count)                                                                              \
    const unsigned group = blockIdx.x * (BLOCK / THREADS) + threadIdx.x / THREADS;                        \
    const bool is_live = group < (count);                                                                 \
    const unsigned item = is_live ? group : (count) - 1;
#define TABLE_OF_GROUP group
#define SKIP_IF_NONE(condition) \
    if (!__any_sync(kAllLanes, condition)) return;
#define FOR_EACH_WORD(count)                                                                              \
    const unsigned item = blockIdx.x * BLOCK + threadIdx.x;                                               \
    if (item < (count))

#else  // EMULATED

#include <algorithm>
#include <cstdint>
using std::min;

#define DEVICE inline
#define KERNEL extern "C" void
#define UNROLLED
#define ROLLED
#define LOOP

struct word {
    std::uint32_t lane[THREADS];
    word() = default;
    word(std::uint32_t value) {
        for (auto& one : lane) one = value;
    }
};

#define EACH_LANE for (int l = 0; l < THREADS; ++l)

static word carry_flag;

DEVICE word finish(const std::uint64_t (&sums)[THREADS], bool sets) {
    word result;
    EACH_LANE {
        result.lane[l] = static_cast<std::uint32_t>(sums[l]);
        if (sets) carry_flag.lane[l] = static_cast<std::uint32_t>(sums[l] >> 32) & 1;
    }
    return result;
}
#define LANEWISE(name, parameters, sum, sets)            \
    DEVICE word name parameters {                        \
        std::uint64_t sums[THREADS];                     \
        EACH_LANE sums[l] = (sum);                       \
        return finish(sums, sets);                       \
    }
#define WIDE(x) (static_cast<std::uint64_t>((x).lane[l]))
#define LOW(x) ((x) & 0xffffffffu)
LANEWISE(add_cc, (const word& a, const word& b), WIDE(a) + WIDE(b), true)
LANEWISE(addc_cc, (const word& a, const word& b), WIDE(a) + WIDE(b) + WIDE(carry_flag), true)
LANEWISE(addc, (const word& a, const word& b), WIDE(a) + WIDE(b) + WIDE(carry_flag), false)
LANEWISE(sub_cc, (const word& a, const word& b), WIDE(a) - WIDE(b), true)
LANEWISE(subc_cc, (const word& a, const word& b), WIDE(a) - WIDE(b) - WIDE(carry_flag), true)
LANEWISE(subc, (const word& a, const word& b), WIDE(a) - WIDE(b) - WIDE(carry_flag), false)
LANEWISE(mad_lo_cc, (const word& a, const word& b, const word& c), LOW(WIDE(a) * WIDE(b)) + WIDE(c), true)
LANEWISE(madc_lo_cc, (const word& a, const word& b, const word& c),
         LOW(WIDE(a) * WIDE(b)) + WIDE(c) + WIDE(carry_flag), true)
LANEWISE(madc_hi_cc, (const word& a, const word& b, const word& c),
         (WIDE(a) * WIDE(b) >> 32) + WIDE(c) + WIDE(carry_flag), true)
LANEWISE(operator*, (const word& a, const word& b), WIDE(a) * WIDE(b), false)
LANEWISE(operator+, (const word& a, const word& b), WIDE(a) + WIDE(b), false)
LANEWISE(operator-, (const word& a, const word& b), WIDE(a) - WIDE(b), false)
LANEWISE(operator&, (const word& a, const word& b), WIDE(a) & WIDE(b), false)
LANEWISE(operator|, (const word& a, const word& b), WIDE(a) | WIDE(b), false)
LANEWISE(operator^, (const word& a, const word& b), WIDE(a) ^ WIDE(b), false)
LANEWISE(operator~, (const word& a), ~WIDE(a), false)
LANEWISE(operator<<, (const word& a, int bits), WIDE(a) << bits, false)
LANEWISE(operator>>, (const word& a, int bits), WIDE(a) >> bits, false)
LANEWISE(is_equal, (const word& a, const word& b), std::uint64_t{WIDE(a) == WIDE(b)}, false)
LANEWISE(first_mask, (), l == 0 ? 0xffffffffu : 0u, false)
LANEWISE(last_mask, (), l == THREADS - 1 ? 0xffffffffu : 0u, false)
LANEWISE(from_first, (const word& a), (static_cast<void>(l), a.lane[0]), false)
LANEWISE(from_last, (const word& a), (static_cast<void>(l), a.lane[THREADS - 1]), false)
LANEWISE(from_next, (const word& a), a.lane[(l + 1) % THREADS], false)
LANEWISE(from_previous, (const word& a), a.lane[(l + THREADS - 1) % THREADS], false)

DEVICE word carries_in(const word& generates, const word& propagates) {
    std::uint64_t emitted = 0, passed = 0;
    EACH_LANE {
        emitted |= std::uint64_t{generates.lane[l] != 0} << (l + 1);
        passed |= std::uint64_t{propagates.lane[l] != 0} << l;
    }
    const std::uint64_t reached = (emitted + passed) ^ passed;
    word result;
    EACH_LANE result.lane[l] = static_cast<std::uint32_t>(reached >> l) & 1;
    return result;
}

DEVICE word load_limb_below(const unsigned* number, int first, int size, int k) {
    word result;
    EACH_LANE {
        const int at = first + l * LANE_LIMBS + k;
        result.lane[l] = at < size ? number[at] : 0;
    }
    return result;
}
DEVICE void store_limb_below(unsigned* number, int first, int size, int k, const word& value) {
    EACH_LANE {
        const int at = first + l * LANE_LIMBS + k;
        if (at < size) number[at] = value.lane[l];
    }
}
DEVICE word load_limb(const unsigned* number, int k) { return load_limb_below(number, 0, LIMBS, k); }
DEVICE void store_limb(unsigned* number, int k, const word& value) { store_limb_below(number, 0, LIMBS, k, value); }
DEVICE void store_uniform(unsigned* place, const word& value) { *place = value.lane[0]; }
DEVICE word uniform(unsigned value) { return word(value); }

struct Digits {
    std::uint32_t (*pairs)[2];
    word first(int row) const { return pairs[row][0]; }
    word second(int row) const { return pairs[row][1]; }
    void put(int k, const word& first, const word& second) const {
        EACH_LANE pairs[l * LANE_LIMBS + k][0] = first.lane[l], pairs[l * LANE_LIMBS + k][1] = second.lane[l];
    }
    void put_top(const word& first, const word& second) const {
        pairs[LIMBS][0] = first.lane[THREADS - 1], pairs[LIMBS][1] = second.lane[THREADS - 1];
    }
    void wait() const {}
};

#define DIGITS_OF_THIS_GROUP                    \
    std::uint32_t local_pairs[LIMBS + 1][2];    \
    const Digits digits = {local_pairs};
// From the last item to the first: where one needs what another makes in the same launch, that goes wrong here too.
#define FOR_EACH_ITEM(count) \
    const bool is_live = true; \
    for (unsigned item = (count); item-- > 0;)
#define TABLE_OF_GROUP item
#define SKIP_IF_NONE(condition) \
    if (!(condition)) continue;
#define FOR_EACH_WORD(count) for (unsigned item = (count); item-- > 0;)

#endif
