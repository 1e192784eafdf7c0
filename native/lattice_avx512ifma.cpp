// The lattice core for AVX-512 with IFMA: eight residues at a time, with products of 52 bits.
#include <immintrin.h>

#include "lattice_common.h"

namespace plumbob {
namespace {

using Vector = __m512i;

inline Vector load(const std::uint64_t* address) { return _mm512_loadu_si512(address); }
inline void store(std::uint64_t* address, Vector value) { _mm512_storeu_si512(address, value); }
inline Vector all(std::uint64_t value) { return _mm512_set1_epi64(static_cast<long long>(value)); }
// Where the difference is negative it is huge without a sign, so the smaller one is right.
inline Vector reduce(Vector x, Vector bound) { return _mm512_min_epu64(x, _mm512_sub_epi64(x, bound)); }

struct Prime {
    Vector value, twice, negative, low;

    explicit Prime(std::uint64_t p)
        : value(all(p)), twice(all(2 * p)), negative(all((std::uint64_t{1} << 52) - p)), low(all(kLow52)) {}

    // Below 2 p, for x below 2^52.
    Vector multiply(Vector x, Vector factor, Vector quotient) const {
        const Vector zero = _mm512_setzero_si512();
        const Vector estimate = _mm512_madd52hi_epu64(zero, x, quotient);
        const Vector product = _mm512_madd52lo_epu64(zero, x, factor);
        return _mm512_and_si512(_mm512_madd52lo_epu64(product, estimate, negative), low);
    }

    // Values below 4 p before and after.
    void forward(Vector& x, Vector& y, Vector factor, Vector quotient) const {
        const Vector reduced = reduce(x, twice);
        const Vector product = multiply(y, factor, quotient);
        x = _mm512_add_epi64(reduced, product);
        y = _mm512_add_epi64(_mm512_sub_epi64(reduced, product), twice);
    }

    // Values below 2 p before and after.
    void inverse(Vector& x, Vector& y, Vector factor, Vector quotient) const {
        const Vector difference = _mm512_add_epi64(_mm512_sub_epi64(x, y), twice);
        x = reduce(_mm512_add_epi64(x, y), twice);
        y = multiply(difference, factor, quotient);
    }
};

inline Vector pick(Vector first, Vector second, Vector order) { return _mm512_permutex2var_epi64(first, order, second); }

// The factors of the last three strides for sixteen values: two, four and eight of them, and their quotients, each where
// its lane is. Rearranged here, because a table in that order would be larger than the second cache.
struct TailFactors {
    const std::uint64_t *values, *quotients;
    std::size_t degree;
    Vector twos = _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1), fours = _mm512_setr_epi64(0, 0, 2, 2, 1, 1, 3, 3);
    Vector eights = _mm512_setr_epi64(0, 4, 2, 6, 1, 5, 3, 7);

    static Vector two(const std::uint64_t* at) {
        return _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    }
    static Vector four(const std::uint64_t* at) {
        return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
    }
    Vector first(const std::uint64_t* table, std::size_t i) const {
        return _mm512_permutexvar_epi64(twos, two(table + (degree + i) / 8));
    }
    Vector second(const std::uint64_t* table, std::size_t i) const {
        return _mm512_permutexvar_epi64(fours, four(table + (degree + i) / 4));
    }
    Vector third(const std::uint64_t* table, std::size_t i) const {
        return _mm512_permutexvar_epi64(eights, load(table + (degree + i) / 2));
    }
};

void forward_tail(const LatticePrime& prime, const Prime& p, std::uint64_t* values, std::size_t begin, std::size_t end) {
    const Vector lower_halves = _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11);
    const Vector upper_halves = _mm512_setr_epi64(4, 5, 6, 7, 12, 13, 14, 15);
    const Vector lower_pairs = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
    const Vector upper_pairs = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
    const Vector even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const Vector odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const Vector first = _mm512_setr_epi64(0, 8, 4, 12, 2, 10, 6, 14);
    const Vector second = _mm512_setr_epi64(1, 9, 5, 13, 3, 11, 7, 15);
    const TailFactors f{prime.forward, prime.forward_quotients, prime.degree};
    for (std::size_t i = begin; i < end; i += 16) {
        const Vector a = load(values + i), b = load(values + i + 8);
        Vector x = pick(a, b, lower_halves), y = pick(a, b, upper_halves);
        p.forward(x, y, f.first(f.values, i), f.first(f.quotients, i));
        Vector u = pick(x, y, lower_pairs), v = pick(x, y, upper_pairs);
        p.forward(u, v, f.second(f.values, i), f.second(f.quotients, i));
        x = pick(u, v, even), y = pick(u, v, odd);
        p.forward(x, y, f.third(f.values, i), f.third(f.quotients, i));
        x = reduce(reduce(x, p.twice), p.value), y = reduce(reduce(y, p.twice), p.value);
        store(values + i, pick(x, y, first));
        store(values + i + 8, pick(x, y, second));
    }
}

void inverse_tail(const LatticePrime& prime, const Prime& p, std::uint64_t* values, std::size_t begin, std::size_t end) {
    const Vector even = _mm512_setr_epi64(0, 8, 4, 12, 2, 10, 6, 14);
    const Vector odd = _mm512_setr_epi64(1, 9, 5, 13, 3, 11, 7, 15);
    const Vector lower_pairs = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const Vector upper_pairs = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    const Vector lower_halves = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const Vector upper_halves = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const Vector first = _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11);
    const Vector second = _mm512_setr_epi64(4, 5, 6, 7, 12, 13, 14, 15);
    const TailFactors f{prime.inverse, prime.inverse_quotients, prime.degree};
    for (std::size_t i = begin; i < end; i += 16) {
        const Vector a = load(values + i), b = load(values + i + 8);
        Vector x = pick(a, b, even), y = pick(a, b, odd);
        p.inverse(x, y, f.third(f.values, i), f.third(f.quotients, i));
        Vector u = pick(x, y, lower_pairs), v = pick(x, y, upper_pairs);
        p.inverse(u, v, f.second(f.values, i), f.second(f.quotients, i));
        x = pick(u, v, lower_halves), y = pick(u, v, upper_halves);
        p.inverse(x, y, f.first(f.values, i), f.first(f.quotients, i));
        store(values + i, pick(x, y, first));
        store(values + i + 8, pick(x, y, second));
    }
}

// Transforms take two strides at once, so that values are loaded and stored half as often, and finish one part that
// fits into the first cache before they begin the next.
constexpr std::size_t kCached = 2048;

struct Range {
    const LatticePrime& prime;
    const Prime& p;
    std::uint64_t* values;

    void forward_step(std::size_t block, std::size_t length) const {
        const std::size_t one = prime.degree / length + block, two = 2 * one, three = two + 1, quarter = length / 4;
        const std::uint64_t *w = prime.forward, *q = prime.forward_quotients;
        const Vector w1 = all(w[one]), q1 = all(q[one]), w2 = all(w[two]), q2 = all(q[two]);
        const Vector w3 = all(w[three]), q3 = all(q[three]);
        std::uint64_t* at = values + block * length;
        for (std::size_t i = 0; i < quarter; i += 8, at += 8) {
            Vector x0 = load(at), x1 = load(at + quarter), x2 = load(at + 2 * quarter), x3 = load(at + 3 * quarter);
            p.forward(x0, x2, w1, q1), p.forward(x1, x3, w1, q1);
            p.forward(x0, x1, w2, q2), p.forward(x2, x3, w3, q3);
            store(at, x0), store(at + quarter, x1), store(at + 2 * quarter, x2), store(at + 3 * quarter, x3);
        }
    }

    void inverse_step(std::size_t block, std::size_t length) const {
        const std::size_t one = prime.degree / length + block, two = 2 * one, three = two + 1, quarter = length / 4;
        const std::uint64_t *w = prime.inverse, *q = prime.inverse_quotients;
        const Vector w1 = all(w[one]), q1 = all(q[one]), w2 = all(w[two]), q2 = all(q[two]);
        const Vector w3 = all(w[three]), q3 = all(q[three]);
        std::uint64_t* at = values + block * length;
        for (std::size_t i = 0; i < quarter; i += 8, at += 8) {
            Vector x0 = load(at), x1 = load(at + quarter), x2 = load(at + 2 * quarter), x3 = load(at + 3 * quarter);
            p.inverse(x0, x1, w2, q2), p.inverse(x2, x3, w3, q3);
            p.inverse(x0, x2, w1, q1), p.inverse(x1, x3, w1, q1);
            store(at, x0), store(at + quarter, x1), store(at + 2 * quarter, x2), store(at + 3 * quarter, x3);
        }
    }

    // Blocks of this length, from `first` on: all strides that are left.
    void forward(std::size_t first, std::size_t count, std::size_t length) const {
        const std::size_t begin = first * length, end = (first + count) * length;
        for (; length >= 32; first *= 4, count *= 4, length /= 4) {
            if (count == 1 && length > kCached) {
                forward_step(first, length);
                for (std::size_t k = 0; k < 4; ++k) forward(4 * first + k, 1, length / 4);
                return;
            }
            for (std::size_t block = first; block < first + count; ++block) forward_step(block, length);
        }
        if (length == 16) {
            for (std::size_t block = first; block < first + count; ++block) {
                const std::size_t one = prime.degree / 16 + block;
                std::uint64_t* at = values + 16 * block;
                Vector x = load(at), y = load(at + 8);
                p.forward(x, y, all(prime.forward[one]), all(prime.forward_quotients[one]));
                store(at, x), store(at + 8, y);
            }
        }
        forward_tail(prime, p, values, begin, end);
    }

    // One block of this length: all strides inside it.
    void inverse(std::size_t block, std::size_t length) const {
        if (length > kCached) {
            for (std::size_t k = 0; k < 4; ++k) inverse(4 * block + k, length / 4);
            inverse_step(block, length);
            return;
        }
        const std::size_t begin = block * length;
        inverse_tail(prime, p, values, begin, begin + length);
        std::size_t done = 8;
        // An odd number of strides leaves one that stands alone: the smallest.
        bool is_odd = false;
        for (std::size_t left = length / 8; left > 1; left /= 2) is_odd = !is_odd;
        if (is_odd) {
            for (std::size_t at = begin; at < begin + length; at += 16) {
                const std::size_t one = (prime.degree + at) / 16;
                Vector x = load(values + at), y = load(values + at + 8);
                p.inverse(x, y, all(prime.inverse[one]), all(prime.inverse_quotients[one]));
                store(values + at, x), store(values + at + 8, y);
            }
            done = 16;
        }
        for (done *= 4; done <= length; done *= 4) {
            for (std::size_t each = begin / done; each < (begin + length) / done; ++each) inverse_step(each, done);
        }
    }
};

void forward(const LatticePrime& prime, std::uint64_t* values) {
    const Prime p(prime.value);
    Range{prime, p, values}.forward(0, 1, prime.degree);
}

void scale(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* value, const Factor& factor) {
    const Prime p(prime.value);
    const Vector w = all(factor.value), q = all(factor.quotient52);
    for (std::size_t i = 0; i < prime.degree; i += 8) {
        store(out + i, reduce(p.multiply(load(value + i), w, q), p.value));
    }
}

void inverse(const LatticePrime& prime, std::uint64_t* values, const Factor& factor) {
    const Prime p(prime.value);
    Range{prime, p, values}.inverse(0, prime.degree);
    scale(prime, values, values, factor);
}

struct Sum {
    Vector low = _mm512_setzero_si512(), high = _mm512_setzero_si512();

    void add(Vector left, Vector right) {
        low = _mm512_madd52lo_epu64(low, left, right);
        high = _mm512_madd52hi_epu64(high, left, right);
    }

    Vector reduced(const Prime& p, Vector carry, Vector quotient) const {
        const Vector above = _mm512_add_epi64(high, _mm512_srli_epi64(low, 52));
        const Vector rest = _mm512_and_si512(low, p.low);
        Vector value = _mm512_add_epi64(p.multiply(above, carry, quotient), rest);
        const Vector four = _mm512_add_epi64(p.twice, p.twice);
        value = reduce(reduce(value, _mm512_add_epi64(four, four)), four);
        return reduce(reduce(value, p.twice), p.value);
    }
};

void dot(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* const* left,
         const std::uint64_t* const* right, std::size_t count) {
    const Prime p(prime.value);
    const Vector carry = all(prime.carry.value), quotient = all(prime.carry.quotient52);
    for (std::size_t i = 0; i < prime.degree; i += 16) {
        Vector total = load(out + i), other = load(out + i + 8);
        for (std::size_t first = 0; first < count; first += kChunk - 1) {
            const std::size_t end = first + kChunk - 1 < count ? first + kChunk - 1 : count;
            Sum sum, next;
            for (std::size_t k = first; k < end; ++k) {
                sum.add(load(left[k] + i), load(right[k] + i));
                next.add(load(left[k] + i + 8), load(right[k] + i + 8));
            }
            total = reduce(_mm512_add_epi64(total, sum.reduced(p, carry, quotient)), p.value);
            other = reduce(_mm512_add_epi64(other, next.reduced(p, carry, quotient)), p.value);
        }
        store(out + i, total);
        store(out + i + 8, other);
    }
}

template <std::size_t kCount>
void linear_of(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* const* left,
               const std::uint64_t* factors, const std::int8_t* small, std::uint64_t constant) {
    const Prime p(prime.value);
    const Vector carry = all(prime.carry.value), quotient = all(prime.carry.quotient52);
    // The prime makes up for a small number that is negative.
    const Vector start = all(constant + prime.value);
    Vector times[kCount];
    for (std::size_t k = 0; k < kCount; ++k) times[k] = all(factors[k]);
    for (std::size_t i = 0; i < prime.degree; i += 8) {
        Sum sum;
        sum.low = start;
        if (small != nullptr) {
            const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(small + i));
            sum.low = _mm512_add_epi64(start, _mm512_cvtepi8_epi64(bytes));
        }
        for (std::size_t k = 0; k < kCount; ++k) sum.add(load(left[k] + i), times[k]);
        store(out + i, sum.reduced(p, carry, quotient));
    }
}

void linear(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* const* left, const std::uint64_t* factors,
            std::size_t count, const std::int8_t* small, std::uint64_t constant) {
    if (count == 4) {
        linear_of<4>(prime, out, left, factors, small, constant);
    } else {
        linear_of<3>(prime, out, left, factors, small, constant);
    }
}

// The wire: eight residues in fifty bytes. Each is moved to where it begins within its first byte, and takes seven bytes;
// those of even lanes do not overlap, and those of odd ones do not.
constexpr __mmask64 kFifty = (__mmask64{1} << 50) - 1;

struct Places {
    alignas(64) std::uint8_t even[64] = {}, odd[64] = {}, from[64] = {};
    __mmask64 is_even = 0, is_odd = 0;

    constexpr Places() {
        for (unsigned lane = 0; lane < 8; ++lane) {
            const unsigned start = lane * kPrimeBits / 8;
            for (unsigned k = 0; k < 8; ++k) from[8 * lane + k] = static_cast<std::uint8_t>((start + k) & 63);
            for (unsigned k = 0; k < 7; ++k) {
                (lane % 2 == 0 ? even : odd)[start + k] = static_cast<std::uint8_t>(8 * lane + k);
                (lane % 2 == 0 ? is_even : is_odd) |= __mmask64{1} << (start + k);
            }
        }
    }
};

constexpr Places kPlaces;

void pack(const LatticePrime& prime, std::uint8_t* out, const std::uint64_t* values) {
    const Vector shifts = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
    const Vector even = _mm512_load_si512(kPlaces.even), odd = _mm512_load_si512(kPlaces.odd);
    const std::size_t degree = prime.degree;
    for (std::size_t i = 0; i < degree; i += 8, out += 50) {
        const Vector moved = _mm512_sllv_epi64(load(values + i), shifts);
        const Vector bytes = _mm512_or_si512(_mm512_maskz_permutexvar_epi8(kPlaces.is_even, even, moved),
                                             _mm512_maskz_permutexvar_epi8(kPlaces.is_odd, odd, moved));
        _mm512_mask_storeu_epi8(out, kFifty, bytes);
    }
}

std::uint64_t unpack(const LatticePrime& prime, std::uint64_t* out, const std::uint8_t* packed) {
    const Vector shifts = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
    const Vector from = _mm512_load_si512(kPlaces.from), low = all(kLow50), most = all(prime.value - 1);
    const std::size_t degree = prime.degree;
    Vector refused = _mm512_setzero_si512();
    for (std::size_t i = 0; i < degree; i += 8, packed += 50) {
        const Vector bytes = _mm512_permutexvar_epi8(from, _mm512_maskz_loadu_epi8(kFifty, packed));
        const Vector residues = _mm512_and_si512(_mm512_srlv_epi64(bytes, shifts), low);
        refused = _mm512_or_si512(refused, _mm512_sub_epi64(most, residues));
        store(out + i, residues);
    }
    return std::uint64_t{_mm512_cmplt_epi64_mask(refused, _mm512_setzero_si512()) != 0} << 63;
}

inline Vector shifted(Vector x) { return _mm512_srai_epi64(x, 30); }

// Eight angles at a time; every factor fits into 32 bits, and its product into 64.
void waves(const Wave& wave, std::int32_t* out, const std::uint32_t* angles, std::size_t count) {
    const Vector scale = _mm512_set1_epi64(wave.scale), half = _mm512_set1_epi64((1LL << wave.dropped) >> 1);
    const Vector half_turn = all(std::uint64_t{1} << 31);
    const __m128i dropped = _mm_cvtsi32_si128(static_cast<int>(wave.dropped));
    const __m256i harmonic = _mm256_set1_epi32(static_cast<int>(wave.harmonic));
    const __m256i shift = _mm256_set1_epi32(static_cast<int>(wave.shift));
    const std::size_t whole = count / 8 * 8;
    for (std::size_t i = 0; i < whole; i += 8) {
        const __m256i turned = _mm256_mullo_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(angles + i)), harmonic);
        const Vector x = _mm512_cvtepi32_epi64(_mm256_add_epi32(turned, shift));
        const Vector size = _mm512_abs_epi64(x);
        // Beyond a quarter of a turn sines are those of what is left to half a turn.
        const Vector folded = _mm512_min_epi64(size, _mm512_sub_epi64(half_turn, size));
        const Vector square = shifted(_mm512_mul_epi32(folded, folded));
        Vector total = _mm512_set1_epi64(kSine[5]);
        for (int k = 4; k >= 0; --k) {
            total = _mm512_add_epi64(_mm512_set1_epi64(kSine[k]), shifted(_mm512_mul_epi32(total, square)));
        }
        const Vector result = shifted(_mm512_mul_epi32(total, folded));
        const Vector sign = _mm512_srai_epi64(x, 63);
        const Vector sine = _mm512_sub_epi64(_mm512_xor_si512(result, sign), sign);
        const Vector scaled = _mm512_sra_epi64(_mm512_add_epi64(_mm512_mul_epi32(sine, scale), half), dropped);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm512_cvtepi64_epi32(scaled));
    }
    waves_scalar(wave, out + whole, angles + whole, count - whole);
}

// Eight numbers of two words: their lower words, and their upper ones.
inline Vector lower_words(Vector a, Vector b) { return pick(a, b, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14)); }
inline Vector upper_words(Vector a, Vector b) { return pick(a, b, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15)); }

void slot_residues(const SlotTables& tables, std::size_t j, std::uint64_t* out, const std::uint64_t* pairs) {
    const Prime p(tables.primes[j].value);
    const Vector four = _mm512_add_epi64(p.twice, p.twice), cut = all(kLow50);
    const Factor &one = tables.ones[j], &first = tables.words[j][0], &second = tables.words[j][1];
    const Vector w0 = all(one.value), q0 = all(one.quotient52), w1 = all(first.value), q1 = all(first.quotient52);
    const Vector w2 = all(second.value), q2 = all(second.quotient52);
    for (std::size_t i = 0; i < tables.degree; i += 8) {
        const Vector a = load(pairs + 2 * i), b = load(pairs + 2 * i + 8);
        const Vector low = lower_words(a, b), high = upper_words(a, b);
        const Vector middle = _mm512_or_si512(_mm512_srli_epi64(low, 50), _mm512_slli_epi64(high, 14));
        Vector sum = p.multiply(_mm512_and_si512(low, cut), w0, q0);
        sum = _mm512_add_epi64(sum, p.multiply(_mm512_and_si512(middle, cut), w1, q1));
        sum = _mm512_add_epi64(sum, p.multiply(_mm512_srli_epi64(high, 36), w2, q2));
        store(out + i, reduce(reduce(reduce(sum, four), p.twice), p.value));
    }
}

void slot_rounded(const SlotTables& tables, std::uint64_t* out, const std::uint64_t* scaled) {
    const std::size_t degree = tables.degree;
    const Vector low = all(kLow52), half = all(std::uint64_t{1} << 51);
    const Prime primes[kSlotPrimes] = {Prime(tables.primes[0].value), Prime(tables.primes[1].value), Prime(tables.primes[2].value)};
    for (std::size_t i = 0; i < degree; i += 8) {
        Vector digits[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
        Sum sums[kSlotPrimes];
        for (std::size_t part = 0; part < tables.parts; ++part) {
            const Vector y = load(scaled + part * degree + i);
            for (int k = 0; k < 3; ++k) {
                const Vector fraction = all(tables.fractions[part][k]);
                digits[k] = _mm512_madd52hi_epu64(digits[k], y, fraction);
                digits[k + 1] = _mm512_madd52lo_epu64(digits[k + 1], y, fraction);
            }
            for (std::size_t j = 0; j < kSlotPrimes; ++j) sums[j].add(y, all(tables.wholes[part][j]));
        }
        const Vector tenths = _mm512_add_epi64(digits[1], _mm512_srli_epi64(digits[2], 52));
        const Vector rounded = _mm512_add_epi64(digits[0], _mm512_srli_epi64(_mm512_add_epi64(tenths, half), 52));
        for (std::size_t j = 0; j < kSlotPrimes; ++j) {
            const Prime& p = primes[j];
            const Factor &carry = tables.primes[j].carry, &one = tables.ones[j];
            const Vector below = _mm512_add_epi64(sums[j].low, rounded);
            const Vector above = _mm512_add_epi64(sums[j].high, _mm512_srli_epi64(below, 52));
            const Vector value = _mm512_add_epi64(p.multiply(above, all(carry.value), all(carry.quotient52)),
                                                  p.multiply(_mm512_and_si512(below, low), all(one.value), all(one.quotient52)));
            store(out + j * degree + i, reduce(reduce(value, p.twice), p.value));
        }
    }
}

void slot_pairs(const SlotTables& tables, std::uint64_t* out, const std::uint64_t* weights) {
    const std::size_t degree = tables.degree;
    const Vector zero = _mm512_setzero_si512(), low52 = all(kLow52);
    const Vector modulus_low = all(tables.modulus[0]), modulus_high = all(tables.modulus[1]);
    const Vector first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    for (std::size_t i = 0; i < degree; i += 8) {
        Vector digits[3] = {zero, zero, zero};  // of 52 bits, the lowest first
        for (std::size_t j = 0; j < kSlotPrimes; ++j) {
            const Vector weight = load(weights + j * degree + i);
            for (int k = 0; k < 2; ++k) {
                const Vector rest = all(tables.rests[j][k]);
                digits[k] = _mm512_madd52lo_epu64(digits[k], weight, rest);
                digits[k + 1] = _mm512_madd52hi_epu64(digits[k + 1], weight, rest);
            }
        }
        const Vector middle = _mm512_add_epi64(digits[1], _mm512_srli_epi64(digits[0], 52));
        const Vector top = _mm512_add_epi64(digits[2], _mm512_srli_epi64(middle, 52));
        Vector low = _mm512_or_si512(_mm512_and_si512(digits[0], low52), _mm512_slli_epi64(middle, 52));
        Vector high = _mm512_or_si512(_mm512_srli_epi64(_mm512_and_si512(middle, low52), 12), _mm512_slli_epi64(top, 40));
        for (int k = 0; k < 2; ++k) {
            const __mmask8 borrows = _mm512_cmplt_epu64_mask(low, modulus_low);
            const Vector less_low = _mm512_sub_epi64(low, modulus_low);
            const Vector difference = _mm512_sub_epi64(high, modulus_high);
            const Vector less_high = _mm512_mask_sub_epi64(difference, borrows, difference, all(1));
            const __mmask8 is_larger = _mm512_cmpge_epi64_mask(less_high, zero);
            low = _mm512_mask_mov_epi64(low, is_larger, less_low);
            high = _mm512_mask_mov_epi64(high, is_larger, less_high);
        }
        store(out + 2 * i, pick(low, high, first));
        store(out + 2 * i + 8, pick(low, high, second));
    }
}

}  // namespace

const LatticeCore avx512ifma_lattice_core = {
    52, 8, forward, inverse, dot, linear, scale,
    from_bytes, from_integers, count_above, subtract, cut, pack, unpack, Cipher<Words16>::stream, waves,
    slot_residues, slot_rounded, slot_pairs,
};

}  // namespace plumbob
