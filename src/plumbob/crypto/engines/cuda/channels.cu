// Chains of products modulo n^2, for few numbers: where every product waits for the one before it, what counts is how soon
// it is there. A number is kept by its remainders modulo small primes (a residue number system): every thread has one
// prime of each of two bases, and nothing carries from one thread to another.
//
// As in numbers.h a residue is c0 + c1 n, here in Montgomery form with M, the product of the first base's K primes; M' is
// that of the second base. The halves of a product C D / M modulo n^2 are r0 and r1:
//
//   s = c0 d0               Q = -s / n modulo M      r0 = (s + Q n) / M
//   t = c0 d1 + c1 d0 - Q   S = -t / n modulo M      r1 = (t + S n) / M
//
// Q and S are found in the first base; the division by M is possible in the second one only. With m running over the primes
// of a base,
//
//   Q = sum of q_m (M / m) - a M,   q_m = Q (M / m)^-1 modulo m,   with a whole number a >= 0,
//
// which is how numbers come from base to base. On the way to the second base a is left out: Q + a M is as good a quotient,
// and r0 grows by a n. On the way back a is needed: the sum of all q_m / m is a + r / M', and since all primes lie close
// below 2^28 and r is small against M', a is the sum of all q_m / 2^28, rounded.
//
// Sizes. B = 2^(32 LIMBS), b = 4 (K + 1). Remainders may exceed their primes, but no q_m reaches 2 m (`reduce`), hence
// Q + a M < 2 K M. A multiple of n is added to t that makes up for the largest Q. From halves below b n, those of one factor
// also up to B, follows with M >= 4 b B
//
//   r0, r1 < (2 b n B + 2 K M + n + 2 K M n) / M < n (b / 2 + 2 K + 2) = b n.
//
// Which products are made and which addresses are read depends on shapes only.

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)
#define UNROLLED _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

typedef unsigned long long wide;

constexpr int K = CHANNELS;
constexpr int kElement = 2 * LIMBS;
constexpr int kDigits = 2 * LIMBS + 1;  // Of 16 bits, in a half below b n.
constexpr int kWindow = 4;

// What the driver writes: K numbers of each for a ring, then n itself. They carry the powers of 2^32 that `reduce` takes.
enum Constant {
    first_prime, first_inverse, first_entry, quotient, carried_quotient, raised, excess,
    second_prime, second_inverse, second_entry, divided, root_divided, minus_divided, raised_divided, weight,
    entering, one = entering + 4, leaving = one + 4, kConstants = leaving + 4
};
constexpr int kRing = kConstants * K + LIMBS;

// What it writes once for all rings: M / m modulo the primes of the second base, M' / m modulo those of the first, and the
// 16-bit digits of all M' / m and of M', for every digit one number after the other.
constexpr int kTables = 2 * K * K + kDigits * (K + 1);

// sum + a b, in one instruction: left alone, the compiler takes columns for 64-bit numbers and adds their upper halves.
DEVICE wide add_product(wide sum, unsigned a, unsigned b) {
#ifdef __CUDACC__
    unsigned low = static_cast<unsigned>(sum), high = static_cast<unsigned>(sum >> 32);
    asm("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.u32 %1, %2, %3, %1;" : "+r"(low), "+r"(high) : "r"(a), "r"(b));
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

    // value / 2^32 modulo m, below value / 2^32 + m. With up to 80 channels no sum of products below reaches 2^63.1.
    DEVICE unsigned reduce(wide value) const {
        const unsigned digit = static_cast<unsigned>(value) * inverse;
        return static_cast<unsigned>(add_product(value, digit, m) >> 32);
    }
};

// What the threads of a number tell each other: q_m of both halves, from each base.
struct Exchange {
    alignas(16) uint2 first[K + 1], second[K + 1];
    wide digits[2][kDigits];
    unsigned limbs[2][LIMBS], multiples[2];
};

// One number's thread: its two primes, their constants and their columns of the tables, all in registers.
struct Channel {
    int index;
    bool is_live;
    Exchange* exchange;
    const unsigned* ring;
    const unsigned* tables;
    Prime first, second;
    unsigned quotient, carried_quotient, raised, excess, divided, root_divided, minus_divided, raised_divided, weight;
    unsigned to_second[K], to_first[K];

    DEVICE unsigned constant(int which) const { return ring[which * K + index]; }

    DEVICE Remainders number(int which) const {
        return make_uint4(constant(which), constant(which + 1), constant(which + 2), constant(which + 3));
    }

    DEVICE Channel(const unsigned* ring_, const unsigned* tables_, Exchange* exchange_, int index_, bool is_live_)
        : index(index_), is_live(is_live_), exchange(exchange_), ring(ring_), tables(tables_) {
        first = {constant(first_prime), constant(first_inverse)};
        second = {constant(second_prime), constant(second_inverse)};
        quotient = constant(Constant::quotient), carried_quotient = constant(Constant::carried_quotient);
        raised = constant(Constant::raised), excess = constant(Constant::excess);
        divided = constant(Constant::divided), root_divided = constant(Constant::root_divided);
        minus_divided = constant(Constant::minus_divided), raised_divided = constant(Constant::raised_divided);
        weight = constant(Constant::weight);
        UNROLLED for (int i = 0; i < K; ++i) {
            to_second[i] = tables[i * K + index];
            to_first[i] = tables[(K + i) * K + index];
        }
    }
};

#ifndef CHAINS
#define CHAINS 2
#endif
// Sums over the primes of the other base of what their threads told times this thread's column. `turns` become the sums of
// what was told, in units of 2^4. Several sums for each half at a time, because each waits for the one before it.
template <bool kCounts>
DEVICE void add_up(wide (&sums)[2], unsigned (&turns)[2], const uint2* told, const unsigned (&column)[K]) {
    wide parts[CHAINS][2];
    UNROLLED for (int part = 0; part < CHAINS; ++part) parts[part][0] = parts[part][1] = 0;
    UNROLLED for (int i = 0; i < K; i += 2) {
        const uint4 two = *reinterpret_cast<const uint4*>(told + i);
        wide(&even)[2] = parts[i % CHAINS];
        even[0] = add_product(even[0], two.x, column[i]);
        even[1] = add_product(even[1], two.y, column[i]);
        if (kCounts) turns[0] += two.x >> 4, turns[1] += two.y >> 4;
        if (i + 1 < K) {
            wide(&odd)[2] = parts[(i + 1) % CHAINS];
            odd[0] = add_product(odd[0], two.z, column[i + 1]);
            odd[1] = add_product(odd[1], two.w, column[i + 1]);
            if (kCounts) turns[0] += two.z >> 4, turns[1] += two.w >> 4;
        }
    }
    sums[0] = parts[0][0], sums[1] = parts[0][1];
    UNROLLED for (int part = 1; part < CHAINS; ++part) sums[0] += parts[part][0], sums[1] += parts[part][1];
}

DEVICE unsigned rounded(unsigned turns) { return (turns + (1u << 23)) >> 24; }

DEVICE Remainders multiply(const Remainders& x, const Remainders& y, const Channel& own) {
    const Prime first = own.first, second = own.second;
    const unsigned low = first.reduce(product(x.x, y.x));
    const unsigned cross = first.reduce(add_product(product(x.x, y.y), x.y, y.x));
    const unsigned q = first.reduce(product(low, own.quotient));
    const unsigned s = first.reduce(add_product(add_product(own.raised, low, own.carried_quotient), cross, own.quotient));
    if (own.is_live) own.exchange->first[own.index] = make_uint2(q, s);
    const unsigned second_low = second.reduce(product(x.z, y.z));
    const unsigned second_cross = second.reduce(add_product(product(x.z, y.w), x.w, y.z));
    const wide divided_low = product(second_low, own.divided);
    const wide divided_cross = add_product(own.raised_divided, second_cross, own.divided);
    wide sums[2];
    unsigned turns[2] = {0, 0};
    __syncthreads();
    add_up<false>(sums, turns, own.exchange->first, own.to_second);
    const unsigned Q = second.reduce(sums[0]), S = second.reduce(sums[1]);
    Remainders r;
    r.z = second.reduce(add_product(divided_low, Q, own.root_divided));
    r.w = second.reduce(add_product(add_product(divided_cross, Q, own.minus_divided), S, own.root_divided));
    const unsigned lower = second.reduce(product(r.z, own.weight)), upper = second.reduce(product(r.w, own.weight));
    if (own.is_live) own.exchange->second[own.index] = make_uint2(lower, upper);
    __syncthreads();
    add_up<true>(sums, turns, own.exchange->second, own.to_first);
    r.x = first.reduce(add_product(sums[0], rounded(turns[0]), own.excess));
    r.y = first.reduce(add_product(sums[1], rounded(turns[1]), own.excess));
    return r;
}

// An element of the other kernels (numbers.h), which has another Montgomery factor: `entering` makes up for it.
DEVICE Remainders enter(const unsigned* element, const Channel& own) {
    unsigned first[2] = {0, 0}, second[2] = {0, 0};
#pragma unroll 8
    for (int k = 0; k < LIMBS; ++k) {
        UNROLLED for (int h = 0; h < 2; ++h) {
            const wide limb = element[h * LIMBS + k];
            first[h] = own.first.reduce(limb + first[h]);
            second[h] = own.second.reduce(limb + second[h]);
        }
    }
    const unsigned first_entry = own.constant(Constant::first_entry), second_entry = own.constant(Constant::second_entry);
    const Remainders number =
        make_uint4(own.first.reduce(product(first[0], first_entry)), own.first.reduce(product(first[1], first_entry)),
                   own.second.reduce(product(second[0], second_entry)), own.second.reduce(product(second[1], second_entry)));
    return multiply(number, own.number(entering), own);
}

DEVICE wide shifted_down(wide value, int bits) { return static_cast<wide>(static_cast<long long>(value) >> bits); }

// One half, from sums for each of its 16-bit digits to limbs, less a multiple of n; returns which one. It is below b n at
// first: n is taken away as often as its highest limb shows, and once more if it still fits.
DEVICE unsigned settle(wide* digits, unsigned* limbs, const unsigned* n) {
    wide carry = 0;
#pragma unroll 4
    for (int k = 0; k < LIMBS; ++k) {
        const wide low = carry + digits[2 * k], high = shifted_down(low, 16) + digits[2 * k + 1];
        limbs[k] = static_cast<unsigned>((low & 0xffff) | (high & 0xffff) << 16);
        carry = shifted_down(high, 16);
    }
    const wide top = (carry + digits[2 * LIMBS]) & 0xffff;
    const wide multiple = (top << 32 | limbs[LIMBS - 1]) / (static_cast<wide>(n[LIMBS - 1]) + 1);
    wide lower = 0, lowest = 0;
#pragma unroll 4
    for (int k = 0; k < LIMBS; ++k) {
        lower += limbs[k] - multiple * n[k];
        limbs[k] = static_cast<unsigned>(lower);
        lowest = shifted_down(lowest + limbs[k] - n[k], 32);
        lower = shifted_down(lower, 32);
    }
    const bool is_above = static_cast<long long>(top + lower + lowest) >= 0;
    lower = 0;
#pragma unroll 4
    for (int k = 0; k < LIMBS; ++k) {
        lower += limbs[k] - static_cast<wide>(is_above ? n[k] : 0u);
        limbs[k] = static_cast<unsigned>(lower);
        lower = shifted_down(lower, 32);
    }
    return static_cast<unsigned>(multiple) + is_above;
}

// The way back. All threads of a number share its digits; two settle a half each. What the lower half loses in multiples of
// n, the upper one gains.
DEVICE void leave(unsigned* element, const Remainders& number, const Channel& own, bool is_kept) {
    multiply(number, own.number(leaving), own);
    Exchange& exchange = *own.exchange;
    unsigned turns[2] = {0, 0};
    ROLLED for (int i = 0; i < K; ++i) turns[0] += exchange.second[i].x >> 4, turns[1] += exchange.second[i].y >> 4;
    ROLLED for (int d = own.index; d < kDigits; d += K) {
        const unsigned* digits = own.tables + 2 * K * K + d * (K + 1);
        wide sums[2] = {0, 0};
#pragma unroll 4
        for (int i = 0; i < K; ++i) {
            sums[0] = add_product(sums[0], exchange.second[i].x, digits[i]);
            sums[1] = add_product(sums[1], exchange.second[i].y, digits[i]);
        }
        if (own.is_live) {
            exchange.digits[0][d] = sums[0] - product(rounded(turns[0]), digits[K]);
            exchange.digits[1][d] = sums[1] - product(rounded(turns[1]), digits[K]);
        }
    }
    __syncthreads();
    const int h = own.index;
    const bool is_settling = own.is_live && h < 2;
    if (is_settling) exchange.multiples[h] = settle(exchange.digits[h], exchange.limbs[h], own.ring + kConstants * K);
    __syncthreads();
    if (is_settling && is_kept) {
        wide carry = h == 1 ? exchange.multiples[0] : 0u;
#pragma unroll 4
        for (int k = 0; k < LIMBS; ++k) {
            carry += exchange.limbs[h][k];
            element[h * LIMBS + k] = static_cast<unsigned>(carry);
            carry >>= 32;
        }
    }
}

// Threads and numbers without work of their own repeat the last one's, because all must meet at the barriers.
#define CHANNEL_OF_THIS_THREAD(rings, rows, tables, count)                                                      \
    __shared__ Exchange exchanges[NUMBERS];                                                                     \
    const int place = min(static_cast<int>(threadIdx.x), NUMBERS * K - 1);                                      \
    const unsigned asked = blockIdx.x * NUMBERS + place / K, item = min(asked, (count) - 1);                    \
    const bool is_kept = asked < (count);                                                                       \
    const Channel own(rings + static_cast<wide>(item / (rows)) * kRing, tables, exchanges + place / K, place % K, \
                      threadIdx.x < NUMBERS * K);

// elements **= an exponent for each ring, in digits of four bits, the highest first. Only its length shows: every entry of
// the table of powers is read, whichever is wanted.
KERNEL raise_channels(const unsigned* rings, const unsigned* tables, unsigned rows, unsigned* elements,
                      const unsigned char* exponents, int digits_per_exponent, unsigned count) {
    __shared__ Remainders powers[1 << kWindow][BLOCK];
    CHANNEL_OF_THIS_THREAD(rings, rows, tables, count)
    unsigned* element = elements + static_cast<wide>(item) * kElement;
    const Remainders base = enter(element, own);
    Remainders number = own.number(one);
    ROLLED for (int v = 0; v < 1 << kWindow; ++v) {
        powers[v][threadIdx.x] = number;
        number = multiply(number, base, own);
    }
    number = own.number(one);
    const unsigned char* exponent = exponents + static_cast<wide>(item / rows) * digits_per_exponent;
    ROLLED for (int position = 0; position < digits_per_exponent; ++position) {
        const unsigned digit = exponent[position];
        Remainders power = make_uint4(0, 0, 0, 0);
#pragma unroll 4
        for (unsigned v = 0; v < 1 << kWindow; ++v) {
            const unsigned mask = v == digit ? ~0u : 0u;
            const Remainders entry = powers[v][threadIdx.x];
            power.x |= entry.x & mask, power.y |= entry.y & mask, power.z |= entry.z & mask, power.w |= entry.w & mask;
        }
        ROLLED for (int i = 0; i <= kWindow; ++i) number = multiply(number, chosen(i < kWindow, number, power), own);
    }
    leave(element, number, own, is_kept);
}

// out[item]: square and multiply over `steps` factors, the last one first, `squarings` of them in between. Factor k of an
// item is element item * item_step + k * factor_step, or one where that is not below `available`.
KERNEL fold_channels(const unsigned* rings, const unsigned* tables, unsigned* out, const unsigned* elements,
                     unsigned item_step, unsigned factor_step, unsigned available, unsigned steps, unsigned squarings,
                     unsigned count) {
    CHANNEL_OF_THIS_THREAD(rings, count, tables, count)
    Remainders number = own.number(one);
    ROLLED for (unsigned k = steps; k-- > 0;) {
        const wide index = static_cast<wide>(item) * item_step + static_cast<wide>(k) * factor_step;
        const bool is_there = index < available;
        const Remainders there = enter(elements + (is_there ? index : 0) * kElement, own);
        const Remainders factor = chosen(is_there, there, own.number(one));
        if (k + 1 == steps) {
            number = factor;
        } else {
            ROLLED for (unsigned i = 0; i <= squarings; ++i) {
                number = multiply(number, chosen(i < squarings, number, factor), own);
            }
        }
    }
    leave(out + static_cast<wide>(item) * kElement, number, own, is_kept);
}
