// Products modulo n^2 in a residue number system: a number is kept by its remainders modulo small primes, nothing
// carries from one to another, and most of the work is a product of bytes with a constant matrix, which tensor cores
// do. A product is there sooner than with lanes (kernels.cu), and more of them are made in a second; a number takes
// more room.
//
// As in numbers.h a residue is c0 + c1 n, here in Montgomery form with M, the product of the first base's K primes; M'
// is that of the second base. The halves of a product C D / M modulo n^2 are r0 and r1:
//
//   s = c0 d0               Q = -s / n modulo M      r0 = (s + Q n) / M
//   t = c0 d1 + c1 d0 - Q   S = -t / n modulo M      r1 = (t + S n) / M
//
// Q and S are found in the first base; the division by M is possible in the second one only. With m running over the
// primes of a base,
//
//   Q = sum of q_m (M / m) - a M,   q_m = Q (M / m)^-1 modulo m,   with a whole number a >= 0,
//
// which is how numbers come from base to base. On the way to the second base a is left out: Q + a M is as good a
// quotient, and r0 grows by a n. On the way back a is needed: the sum of all q_m / m is a + r / M', and since all
// primes lie close below 2^30 and r is small against M', a is the sum of all q_m / 2^30, rounded. In the second base
// the remainders of a number are kept as these q_m.
//
// Sizes. B = 2^(32 LIMBS), b = 4 (K + 1), and M, M' >= 4 b B. Remainders may exceed their primes a little: q_m of the
// first base stay below 1.74 m, those of the second below 2.22 m (`multiply`). Hence Q + a M < 2 K M, and a multiple of
// n above that is added to t. From halves below b n, those of one factor also up to B, follows
//
//   r0, r1 < (2 b n max(b n, B) + 2 K M + n + 2 K M n) / M <= n (b / 2 + 2 K + 2) = b n.
//
// A block has four numbers, and eight channels (primes of each base) for each of its warps: lane 4 g + t has channel g
// of number t, both halves. Where K is no multiple of eight, the last channels have zeros for constants, and stay zero.
//
// Which products are made depends on shapes only, and so do the addresses that are read, but for the entries of
// `multiply_entry_channels`.

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK, 1)
#define UNROLLED _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

typedef unsigned long long wide;

constexpr int K = CHANNELS;
constexpr int kWarps = BLOCK / 32;
constexpr int kChannels = 8 * kWarps;  // K and those that stay zero.
constexpr int kNumbers = NUMBERS;      // Of a block.
constexpr int kElement = 2 * LIMBS;
constexpr int kDigits = 2 * LIMBS + 1;  // Of 16 bits, in a half below b n.
constexpr int kWindow = WINDOW;
static_assert(kNumbers == 4 && BLOCK % 32 == 0, "a lane has one of four numbers, and a warp eight channels");
static_assert((1 << kWindow) % kWindow == 0, "with every squaring comes an equal part of a table of powers");

// What the driver writes: one of each for every channel of a ring, then n itself. They carry the powers of 2^32 that
// `reduce` takes.
enum Constant {
    first_prime, first_inverse, first_entry, quotient, carried_quotient, raised, excess,
    second_prime, second_inverse, second_entry, divided, root_divided, minus_divided, raised_divided,
    entering, one = entering + 4, leaving = one + 4, kConstants = leaving + 4
};
constexpr int kRing = kConstants * kChannels + LIMBS;

// What it writes once for all rings, `matrices`: those that lead from base to base, cut into bytes for the tensor cores
// (`Matrix`), then the 16-bit digits of all M' / m and of M', the lowest first.
constexpr int kMatrix = kWarps * kWarps * 2 * 32 * 4;

// sum + a b, in one instruction: left alone, the compiler makes more of it.
DEVICE wide add_product(wide sum, unsigned a, unsigned b) {
#ifdef __CUDACC__
    unsigned low = static_cast<unsigned>(sum), high = static_cast<unsigned>(sum >> 32);
    asm("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.u32 %1, %2, %3, %1;" : "+&r"(low), "+r"(high) : "r"(a), "r"(b));
    return static_cast<wide>(high) << 32 | low;
#else
    return sum + static_cast<wide>(a) * b;
#endif
}
DEVICE wide product(unsigned a, unsigned b) { return add_product(0, a, b); }

// A number in this thread's channels: both halves modulo the first prime, both halves modulo the second one.
typedef uint4 Remainders;

DEVICE Remainders chosen(bool is_left, const Remainders& left, const Remainders& right) {
    return make_uint4(is_left ? left.x : right.x, is_left ? left.y : right.y, is_left ? left.z : right.z,
                      is_left ? left.w : right.w);
}

struct Prime {
    unsigned m, inverse;  // -1 / m modulo 2^32

    // value / 2^32 modulo m, below value / 2^32 + m.
    DEVICE unsigned reduce(wide value) const {
        const unsigned digit = static_cast<unsigned>(value) * inverse;
        return static_cast<unsigned>(add_product(value, digit, m) >> 32);
    }
};

// What the channels tell each other, from each base: q_m of both halves of all numbers.
struct Exchange {
    unsigned first[kChannels][2 * kNumbers], second[kChannels][2 * kNumbers];
    wide digits[kNumbers][2][kDigits];
    unsigned limbs[kNumbers][2][LIMBS], multiples[kNumbers][2];
};

// A warp's part of the matrix that leads from one base to the other. For a prime m of the one and m' of the other base
// it has 2^(8 a) M / m modulo m', a < 4: these meet the bytes of q_m. Each is cut into bytes itself, b < 4; products
// with its byte b are summed in tile b / 2. What a lane holds of a tile, and in which order, is what the tensor cores
// want.
struct Matrix {
    uint4 tiles[kWarps][2];

    DEVICE void load(const unsigned* from, int warp, int lane) {
        UNROLLED for (int step = 0; step < kWarps; ++step) {
            UNROLLED for (int tile = 0; tile < 2; ++tile) {
                tiles[step][tile] =
                    reinterpret_cast<const uint4*>(from)[((warp * kWarps + step) * 2 + tile) * 32 + lane];
            }
        }
    }
};

DEVICE void multiply_bytes(int (&sums)[4], const uint4& left, unsigned right, unsigned other_right) {
#ifdef __CUDACC__
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(left.x), "r"(left.y), "r"(left.z), "r"(left.w), "r"(right), "r"(other_right));
#else
    emulated_multiply_bytes(sums, left, right, other_right);
#endif
}

// This lane's channel of one number: its two primes, their constants, and its warp's part of the matrices, in
// registers.
struct Channel {
    int warp, lane, index, number;
    Exchange* exchange;
    const unsigned* ring;
    Prime first, second;
    unsigned quotient, carried_quotient, raised, excess, divided, root_divided, minus_divided, raised_divided;
    Matrix to_second, to_first;

    DEVICE unsigned constant(int which) const { return ring[which * kChannels + index]; }

    DEVICE Remainders constant_number(int which) const {
        return make_uint4(constant(which), constant(which + 1), constant(which + 2), constant(which + 3));
    }

    DEVICE Channel(Exchange* exchange_, const unsigned* matrices) : exchange(exchange_) {
        warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        index = 8 * warp + lane / 4, number = lane % 4;
        to_second.load(matrices, warp, lane);
        to_first.load(matrices + kMatrix, warp, lane);
    }

    DEVICE void enter_ring(const unsigned* constants) {
        ring = constants;
        first = {constant(first_prime), constant(first_inverse)};
        second = {constant(second_prime), constant(second_inverse)};
        quotient = constant(Constant::quotient), carried_quotient = constant(Constant::carried_quotient);
        raised = constant(Constant::raised), excess = constant(Constant::excess);
        divided = constant(Constant::divided), root_divided = constant(Constant::root_divided);
        minus_divided = constant(Constant::minus_divided), raised_divided = constant(Constant::raised_divided);
    }
};

// Volatile: all are to be on their way before the first is used.
DEVICE unsigned load_early(const unsigned* place) { return *static_cast<const volatile unsigned*>(place); }

// Sums over the primes of the other base of what their channels told, times this channel's column of the matrix, for
// both halves. If it counts, `turns` become the sums of what was told, in units of 2^6. What was told has a highest byte of 142 at
// most: with up to 72 channels, the sums for two bytes fit into a word.
template <bool kCounts>
DEVICE void add_up(wide (&sums)[2], unsigned* turns, const unsigned (*told)[2 * kNumbers], const Matrix& matrix,
                   int lane) {
    int bytes[2][4] = {};
    const int vector = lane / 4, place = lane % 4;
    unsigned rights[2 * kWarps], count = 0;
    UNROLLED for (int i = 0; i < 2 * kWarps; ++i) rights[i] = load_early(&told[4 * i + place][vector]);
    UNROLLED for (int step = 0; step < kWarps; ++step) {
        multiply_bytes(bytes[0], matrix.tiles[step][0], rights[2 * step], rights[2 * step + 1]);
        multiply_bytes(bytes[1], matrix.tiles[step][1], rights[2 * step], rights[2 * step + 1]);
    }
    if (kCounts) {
        UNROLLED for (int i = 0; i < 2 * kWarps; ++i) count += rights[i] >> 6;
    }
    UNROLLED for (int h = 0; h < 2; ++h) {
        const unsigned low = bytes[0][h] + (unsigned(bytes[0][2 + h]) << 8);
        const unsigned high = bytes[1][h] + (unsigned(bytes[1][2 + h]) << 8);
        sums[h] = add_product(low, high, 1u << 16);
    }
    if (kCounts) {
        count += __shfl_xor_sync(~0u, count, 1);
        count += __shfl_xor_sync(~0u, count, 2);
        turns[0] = __shfl_sync(~0u, count, 8 * place);
        turns[1] = __shfl_sync(~0u, count, 8 * place + 4);
    }
}

DEVICE unsigned rounded(unsigned turns) { return (turns + (1u << 23)) >> 24; }

// `reduce` divides by 2^32, that is, by four times a prime. With x.x, x.y, y.x and y.y barely above their prime,
// low <= 1.25 m, cross <= 1.5 m, q <= 1.32 m and s <= 1.69 m (from `enter` they are up to 1.25 m: q <= 1.33 m and
// s <= 1.74 m). With r.z <= 1.68 m and r.w <= 2.22 m before, they stay so. r.x and r.y are barely above their prime again,
// since sums from `add_up` are below 2^49. No sum, with what `reduce` adds, reaches 2^63.6.
DEVICE Remainders multiply(const Remainders& x, const Remainders& y, const Channel& own) {
    const Prime first = own.first, second = own.second;
    const unsigned low = first.reduce(product(x.x, y.x));
    const unsigned cross = first.reduce(add_product(product(x.x, y.y), x.y, y.x));
    const unsigned q = first.reduce(product(low, own.quotient));
    const wide carried = add_product(own.raised, low, own.carried_quotient);
    const unsigned s = first.reduce(add_product(carried, cross, own.quotient));
    *reinterpret_cast<uint2*>(&own.exchange->first[own.index][2 * own.number]) = make_uint2(q, s);
    wide sums[2];
    unsigned turns[2];
    __syncthreads();
    add_up<false>(sums, nullptr, own.exchange->first, own.to_second, own.lane);
    // This is done while the tensor cores are busy.
    const unsigned second_low = second.reduce(product(x.z, y.z));
    const unsigned second_cross = second.reduce(add_product(product(x.z, y.w), x.w, y.z));
    const wide divided_low = product(second_low, own.divided);
    const wide divided_cross = add_product(own.raised_divided, second_cross, own.divided);
    const unsigned Q = second.reduce(sums[0]), S = second.reduce(sums[1]);
    Remainders r;
    r.z = second.reduce(add_product(divided_low, Q, own.root_divided));
    r.w = second.reduce(add_product(add_product(divided_cross, Q, own.minus_divided), S, own.root_divided));
    *reinterpret_cast<uint2*>(&own.exchange->second[own.index][2 * own.number]) = make_uint2(r.z, r.w);
    __syncthreads();
    add_up<true>(sums, turns, own.exchange->second, own.to_first, own.lane);
    r.x = first.reduce(add_product(sums[0], rounded(turns[0]), own.excess));
    r.y = first.reduce(add_product(sums[1], rounded(turns[1]), own.excess));
    return r;
}

// An element of the other kernels (numbers.h), which has another Montgomery factor: `entering` makes up for it.
DEVICE Remainders enter(const unsigned* element, const Channel& own) {
    unsigned first[2] = {0, 0}, second[2] = {0, 0};
#pragma unroll 16
    for (int k = 0; k < LIMBS; ++k) {
        UNROLLED for (int h = 0; h < 2; ++h) {
            const wide limb = element[h * LIMBS + k];
            first[h] = own.first.reduce(limb + first[h]);
            second[h] = own.second.reduce(limb + second[h]);
        }
    }
    const unsigned first_scale = own.constant(first_entry), second_scale = own.constant(second_entry);
    Remainders number;
    number.x = own.first.reduce(product(first[0], first_scale));
    number.y = own.first.reduce(product(first[1], first_scale));
    number.z = own.second.reduce(product(second[0], second_scale));
    number.w = own.second.reduce(product(second[1], second_scale));
    return multiply(number, own.constant_number(entering), own);
}

DEVICE wide shifted_down(wide value, int bits) { return static_cast<wide>(static_cast<long long>(value) >> bits); }

// One half, from sums for each of its 16-bit digits to limbs, less a multiple of n; returns which one. It is below b n at
// first: n is taken away as often as its highest limb shows, and once more if it still fits. What is left is below n or
// below b 2^(32 (LIMBS - 1)), and so below B, even with what the upper half gains.
DEVICE unsigned settle(const wide* digits, unsigned* limbs, const unsigned* n) {
    wide carry = 0;
#pragma unroll 4
    for (int k = 0; k < LIMBS; ++k) {
        const wide low = carry + digits[2 * k], high = shifted_down(low, 16) + digits[2 * k + 1];
        limbs[k] = static_cast<unsigned>((low & 0xffff) | (high & 0xffff) << 16);
        carry = shifted_down(high, 16);
    }
    const wide top = (carry + digits[2 * LIMBS]) & 0xffff;
    // Exact: below 2^41, no such quotient comes closer to a whole number than a double can tell. The half keeps it from
    // being zero, which a division of doubles would take another path for.
    const double highest = static_cast<double>(top << 32 | limbs[LIMBS - 1]) + 0.5;
    const wide multiple = static_cast<wide>(highest / (n[LIMBS - 1] + 1.0));
    wide lower = 0, lowest = 0;
#pragma unroll 4
    for (int k = 0; k < LIMBS; ++k) {
        lower += limbs[k] - multiple * n[k];
        limbs[k] = static_cast<unsigned>(lower);
        lowest = shifted_down(lowest + limbs[k] - n[k], 32);
        lower = shifted_down(lower, 32);
    }
    const unsigned is_above = static_cast<unsigned>(~(top + lower + lowest) >> 63), mask = 0u - is_above;
    lower = 0;
#pragma unroll 4
    for (int k = 0; k < LIMBS; ++k) {
        lower += limbs[k] - static_cast<wide>(n[k] & mask);
        limbs[k] = static_cast<unsigned>(lower);
        lower = shifted_down(lower, 32);
    }
    return static_cast<unsigned>(multiple) + is_above;
}

// The way back. All lanes of a number share its digits; two settle a half each. What the lower half loses in multiples
// of n, the upper one gains.
DEVICE void leave(unsigned* element, const Remainders& number, const Channel& own, const unsigned* matrices,
                  bool is_kept) {
    multiply(number, own.constant_number(leaving), own);
    Exchange& exchange = *own.exchange;
    const int t = own.number, h = own.index;
    unsigned turns[2] = {0, 0};
#pragma unroll 4
    for (int i = 0; i < K; ++i) {
        turns[0] += exchange.second[i][2 * t] >> 6, turns[1] += exchange.second[i][2 * t + 1] >> 6;
    }
    ROLLED for (int d = own.index; d < kDigits; d += kChannels) {
        const unsigned* digits = matrices + 2 * kMatrix + d;
        wide sums[2] = {0, 0};
#pragma unroll 16
        for (int i = 0; i < K; ++i) {
            sums[0] = add_product(sums[0], exchange.second[i][2 * t], digits[i * kDigits]);
            sums[1] = add_product(sums[1], exchange.second[i][2 * t + 1], digits[i * kDigits]);
        }
        exchange.digits[t][0][d] = sums[0] - product(rounded(turns[0]), digits[K * kDigits]);
        exchange.digits[t][1][d] = sums[1] - product(rounded(turns[1]), digits[K * kDigits]);
    }
    __syncthreads();
    if (h < 2) {
        const unsigned* n = own.ring + kConstants * kChannels;
        exchange.multiples[t][h] = settle(exchange.digits[t][h], exchange.limbs[t][h], n);
    }
    __syncthreads();
    if (h < 2 && is_kept) {
        wide carry = h == 1 ? exchange.multiples[t][0] : 0u;
#pragma unroll 4
        for (int k = 0; k < LIMBS; ++k) {
            carry += exchange.limbs[t][h][k];
            element[h * LIMBS + k] = static_cast<unsigned>(carry);
            carry >>= 32;
        }
    }
}

// A block stays and takes four items after four, because its matrices take long to load. Lanes without an item of their
// own repeat the last one's: all must meet at the barriers.
#define FOR_EACH_ITEM(rings, rows, matrices, count)                                                        \
    __shared__ Exchange exchange;                                                                          \
    Channel own(&exchange, matrices);                                                                      \
    for (unsigned start = blockIdx.x * kNumbers; start < (count); start += gridDim.x * kNumbers)           \
        if (const unsigned asked = start + own.number, item = min(asked, (count) - 1);                     \
            own.enter_ring(rings + static_cast<wide>(item / (rows)) * kRing), true)

// elements **= an exponent for each ring, in digits of four bits, the highest first. Only its length shows: every entry
// of the table of powers is read, whichever is wanted. `far_powers` has room for 16 numbers for every thread; they lie
// there where the shared memory is too small for them.
KERNEL raise_channels(const unsigned* rings, const unsigned* matrices, unsigned rows, unsigned* elements,
                      const unsigned char* exponents, int digits_per_exponent, Remainders* far_powers, unsigned count) {
    constexpr int kPowers = BLOCK << kWindow;
    constexpr unsigned kPart = (1 << kWindow) / kWindow;
    constexpr bool kIsNear = kPowers * sizeof(Remainders) + sizeof(Exchange) <= 48 << 10;
    __shared__ Remainders near_powers[kIsNear ? kPowers : 1];
    Remainders* powers = (kIsNear ? near_powers : far_powers + static_cast<wide>(blockIdx.x) * kPowers) + threadIdx.x;
    FOR_EACH_ITEM(rings, rows, matrices, count) {
        unsigned* element = elements + static_cast<wide>(item) * kElement;
        const Remainders base = enter(element, own);
        Remainders number = own.constant_number(one);
        ROLLED for (int v = 0; v < 1 << kWindow; ++v) {
            powers[v * BLOCK] = number;
            number = multiply(number, base, own);
        }
        number = own.constant_number(one);
        const unsigned char* exponent = exponents + static_cast<wide>(item / rows) * digits_per_exponent;
        ROLLED for (int position = 0; position < digits_per_exponent; ++position) {
            const unsigned digit = exponent[position];
            Remainders power = make_uint4(0, 0, 0, 0);
            ROLLED for (unsigned i = 0; i <= kWindow; ++i) {
                // With every squaring comes a fourth of the table; it is on its way while the product is made.
                Remainders entries[kPart];
                UNROLLED for (unsigned v = 0; v < kPart; ++v) entries[v] = powers[(i % kWindow * kPart + v) * BLOCK];
                number = multiply(number, chosen(i < kWindow, number, power), own);
                UNROLLED for (unsigned v = 0; v < kPart; ++v) {
                    const unsigned mask = i * kPart + v == digit ? ~0u : 0u;
                    power.x |= entries[v].x & mask, power.y |= entries[v].y & mask;
                    power.z |= entries[v].z & mask, power.w |= entries[v].w & mask;
                }
            }
        }
        leave(element, number, own, matrices, asked < count);
    }
}

// Numbers in all their channels, one after the other.
DEVICE Remainders load(const Remainders* numbers, wide index, const Channel& own) {
    return numbers[index * kChannels + own.index];
}
DEVICE void store(Remainders* numbers, wide index, const Remainders& number, const Channel& own, bool is_kept) {
    if (is_kept) numbers[index * kChannels + own.index] = number;
}

KERNEL enter_channels(const unsigned* rings, const unsigned* matrices, Remainders* numbers, const unsigned* elements,
                      unsigned count) {
    FOR_EACH_ITEM(rings, count, matrices, count) {
        store(numbers, item, enter(elements + static_cast<wide>(item) * kElement, own), own, asked < count);
    }
}

// out[item]: square and multiply over `steps` factors, the last one first, `squarings` of them in between and
// `last_squarings` in the end. Factor k of an item is number item * item_step + k * factor_step, or one where that is
// not below `available`.
KERNEL fold_channels(const unsigned* rings, const unsigned* matrices, unsigned* out, const Remainders* numbers,
                     unsigned item_step, unsigned factor_step, unsigned available, unsigned steps, unsigned squarings,
                     unsigned last_squarings, unsigned count) {
    FOR_EACH_ITEM(rings, count, matrices, count) {
        const auto factor_at = [&](unsigned k) {
            const wide index = static_cast<wide>(item) * item_step + static_cast<wide>(k) * factor_step;
            return index < available ? load(numbers, index, own) : own.constant_number(one);
        };
        Remainders number = own.constant_number(one), next = factor_at(steps - 1);
        ROLLED for (unsigned k = steps; k-- > 0;) {
            const Remainders factor = next;
            if (k > 0) next = factor_at(k - 1);  // It takes as long to come as a product.
            ROLLED for (unsigned i = k + 1 == steps ? squarings : 0; i <= squarings; ++i) {
                number = multiply(number, chosen(i < squarings, number, factor), own);
            }
        }
        ROLLED for (unsigned i = 0; i < last_squarings; ++i) number = multiply(number, number, own);
        leave(out + static_cast<wide>(item) * kElement, number, own, matrices, asked < count);
    }
}

// As `start_subsets` and `join_subsets` of kernels.cu: the tables of subset products, from elements.
KERNEL start_subset_channels(const unsigned* rings, const unsigned* matrices, Remainders* subsets,
                             const unsigned* elements, unsigned rows, int size, unsigned count) {
    FOR_EACH_ITEM(rings, count, matrices, count) {
        const unsigned slot = item % (size + 1), table = item / (size + 1), row = table * size + slot - 1;
        const bool is_there = slot > 0 && row < rows;
        const Remainders there = enter(elements + static_cast<wide>(is_there ? row : 0) * kElement, own);
        const wide entry = (static_cast<wide>(table) << size) + (slot == 0 ? 0 : 1u << (slot - 1));
        store(subsets, entry, chosen(is_there, there, own.constant_number(one)), own, asked < count);
    }
}

KERNEL join_subset_channels(const unsigned* rings, const unsigned* matrices, Remainders* subsets, int size, int half,
                            unsigned count) {
    const unsigned blocks = (size + 2 * half - 1) / (2 * half), patterns = 1u << min(2 * half, size);
    struct Pair {
        Remainders left, right;
        wide joined;
        bool is_new;
    };
    const auto pair_at = [&](unsigned item, const Channel& own) {
        const unsigned pattern = item % patterns, block = item / patterns % blocks;
        const wide table = static_cast<wide>(item / patterns / blocks) << size;
        const unsigned low = (pattern & ((1u << half) - 1)) << block * 2 * half;
        const unsigned high = (pattern >> half << half) << block * 2 * half;
        const bool is_new = low != 0 && high != 0 && (low | high) >> size == 0;
        return Pair{load(subsets, table + (is_new ? low : 0), own), load(subsets, table + (is_new ? high : 0), own),
                    table + (low | high), is_new};
    };
    bool is_first = true;
    Pair next;
    FOR_EACH_ITEM(rings, count, matrices, count) {
        const Pair pair = is_first ? pair_at(item, own) : next;
        is_first = false;
        next = pair_at(min(asked + gridDim.x * kNumbers, count - 1), own);  // On its way while this product is made.
        store(subsets, pair.joined, multiply(pair.left, pair.right, own), own, pair.is_new && asked < count);
    }
}

// As `multiply_entries`, over all tables: out[item] is the product of the entries that the item's index names in each.
KERNEL multiply_entry_channels(const unsigned* rings, const unsigned* matrices, Remainders* out,
                               const Remainders* subsets, int size, unsigned n_tables, const unsigned short* indices,
                               unsigned count) {
    FOR_EACH_ITEM(rings, count, matrices, count) {
        // What the next product needs is on its way while this one is made, and so is the index after it.
        const auto index_at = [&](unsigned table) {
            return indices[static_cast<wide>(min(table, n_tables - 1)) * count + item];
        };
        const auto entry_at = [&](unsigned table, unsigned chosen_entry) {
            return load(subsets, (static_cast<wide>(min(table, n_tables - 1)) << size) + chosen_entry, own);
        };
        Remainders number = entry_at(0, index_at(0)), next = entry_at(1, index_at(1));
        unsigned next_index = index_at(2);
        ROLLED for (unsigned table = 1; table < n_tables; ++table) {
            const Remainders entry = next;
            next = entry_at(table + 1, next_index);
            next_index = index_at(table + 2);
            number = multiply(number, entry, own);
        }
        store(out, item, number, own, asked < count);
    }
}
