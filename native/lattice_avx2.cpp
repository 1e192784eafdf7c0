// The lattice core for AVX2 with FMA: transforms take four residues at a time, as doubles.
//
// For w below p < 2^50 and x below 4 p in size, with q = round(x (w / p)): the rounded product h = x w leaves exactly
// l = x w - h behind, and h - q p is a whole number below 2^52 in size, so both fused operations and their sum are exact.
// The result is below 1.5 p in size, and below .8 p for x below p.
#include <immintrin.h>

#include "lattice_common.h"

namespace plumbob {
namespace {

using Vector = __m256d;

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

inline Vector as_double(__m256i x) {
    // Below 2^52: the bits of 2^52 + x, less 2^52.
    const __m256i magic = _mm256_set1_epi64x(0x4330000000000000);
    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(x, magic)), _mm256_castsi256_pd(magic));
}

inline __m256i as_integer(Vector x) {
    const __m256i magic = _mm256_set1_epi64x(0x4330000000000000);
    return _mm256_xor_si256(_mm256_castpd_si256(_mm256_add_pd(x, _mm256_castsi256_pd(magic))), magic);
}

inline Vector load(const std::uint64_t* at) { return _mm256_castsi256_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))); }
inline void store(std::uint64_t* at, Vector x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm256_castpd_si256(x)); }
inline Vector all(std::uint64_t bits) { return _mm256_castsi256_pd(_mm256_set1_epi64x(static_cast<long long>(bits))); }

struct Prime {
    Vector value, reciprocal;

    explicit Prime(std::uint64_t p)
        : value(_mm256_set1_pd(static_cast<double>(p))), reciprocal(_mm256_set1_pd(1.0 / static_cast<double>(p))) {}

    // To about half of p in size.
    Vector reduce(Vector x) const {
        return _mm256_fnmadd_pd(_mm256_round_pd(_mm256_mul_pd(x, reciprocal), kNearest), value, x);
    }

    Vector multiply(Vector x, Vector factor, Vector ratio) const {
        const Vector high = _mm256_mul_pd(x, factor);
        const Vector low = _mm256_fmsub_pd(x, factor, high);
        const Vector quotient = _mm256_round_pd(_mm256_mul_pd(x, ratio), kNearest);
        return _mm256_add_pd(_mm256_fnmadd_pd(quotient, value, high), low);
    }

    void forward(Vector& x, Vector& y, Vector factor, Vector ratio) const {
        const Vector product = multiply(y, factor, ratio);
        y = _mm256_sub_pd(x, product);
        x = _mm256_add_pd(x, product);
    }

    void inverse(Vector& x, Vector& y, Vector factor, Vector ratio) const {
        const Vector difference = _mm256_sub_pd(x, y);
        x = _mm256_add_pd(x, y);
        y = multiply(difference, factor, ratio);
    }

    // In [0, p), as an integer.
    Vector canonical(Vector x) const {
        const Vector reduced = reduce(x);
        const Vector negative = _mm256_cmp_pd(reduced, _mm256_setzero_pd(), _CMP_LT_OQ);
        const Vector above = _mm256_add_pd(reduced, _mm256_and_pd(negative, value));
        return _mm256_castsi256_pd(as_integer(above));
    }
};

inline Vector lower_halves(Vector a, Vector b) { return _mm256_permute2f128_pd(a, b, 0x20); }
inline Vector upper_halves(Vector a, Vector b) { return _mm256_permute2f128_pd(a, b, 0x31); }

// Two strides at once. What is added to is reduced first, to half of p: it grows to two p until the next reduction.
void forward(const LatticePrime& prime, std::uint64_t* values) {
    const Prime p(prime.value);
    const std::uint64_t *w = prime.forward, *q = prime.forward_quotients;
    for (std::size_t i = 0; i < prime.degree; i += 4) {
        store(values + i, as_double(_mm256_castpd_si256(load(values + i))));
    }
    std::size_t blocks = 1, stride = prime.degree / 2;
    for (; stride >= 8; blocks *= 4, stride /= 4) {
        const std::size_t half = stride / 2;
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::size_t one = blocks + block, two = 2 * one, three = two + 1;
            const Vector w1 = all(w[one]), q1 = all(q[one]), w2 = all(w[two]), q2 = all(q[two]);
            const Vector w3 = all(w[three]), q3 = all(q[three]);
            std::uint64_t* at = values + 2 * block * stride;
            for (std::size_t i = 0; i < half; i += 4, at += 4) {
                Vector x0 = p.reduce(load(at)), x1 = p.reduce(load(at + half));
                Vector x2 = load(at + stride), x3 = load(at + stride + half);
                p.forward(x0, x2, w1, q1), p.forward(x1, x3, w1, q1);
                p.forward(x0, x1, w2, q2), p.forward(x2, x3, w3, q3);
                store(at, x0), store(at + half, x1), store(at + stride, x2), store(at + stride + half, x3);
            }
        }
    }
    if (stride == 4) {
        for (std::size_t block = 0; block < blocks; ++block) {
            std::uint64_t* at = values + 8 * block;
            Vector x = p.reduce(load(at)), y = load(at + 4);
            p.forward(x, y, all(w[blocks + block]), all(q[blocks + block]));
            store(at, x), store(at + 4, y);
        }
    }
    const std::uint64_t* factors = prime.forward_tail;
    for (std::size_t i = 0; i < prime.degree; i += 8, factors += 16) {
        const Vector a = load(values + i), b = load(values + i + 4);
        Vector x = p.reduce(lower_halves(a, b)), y = upper_halves(a, b);
        p.forward(x, y, load(factors), load(factors + 4));
        Vector u = _mm256_unpacklo_pd(x, y), v = _mm256_unpackhi_pd(x, y);
        p.forward(u, v, load(factors + 8), load(factors + 12));
        x = p.canonical(_mm256_unpacklo_pd(u, v)), y = p.canonical(_mm256_unpackhi_pd(u, v));
        store(values + i, lower_halves(x, y));
        store(values + i + 4, upper_halves(x, y));
    }
}

void inverse(const LatticePrime& prime, std::uint64_t* values, const Factor& factor) {
    const Prime p(prime.value);
    const std::uint64_t *w = prime.inverse, *q = prime.inverse_quotients;
    const std::uint64_t* factors = prime.inverse_tail;
    for (std::size_t i = 0; i < prime.degree; i += 8, factors += 16) {
        const Vector a = p.reduce(as_double(_mm256_castpd_si256(load(values + i))));
        const Vector b = p.reduce(as_double(_mm256_castpd_si256(load(values + i + 4))));
        Vector x = lower_halves(a, b), y = upper_halves(a, b);
        Vector u = _mm256_unpacklo_pd(x, y), v = _mm256_unpackhi_pd(x, y);
        p.inverse(u, v, load(factors + 8), load(factors + 12));
        x = _mm256_unpacklo_pd(u, v), y = _mm256_unpackhi_pd(u, v);
        p.inverse(x, y, load(factors), load(factors + 4));
        store(values + i, lower_halves(x, y));
        store(values + i + 4, upper_halves(x, y));
    }
    std::size_t blocks = prime.degree / 8, stride = 4;
    bool is_single = false;
    for (std::size_t left = blocks; left > 0; left /= 2) is_single = !is_single;
    if (is_single) {
        for (std::size_t block = 0; block < blocks; ++block) {
            std::uint64_t* at = values + 8 * block;
            Vector x = p.reduce(load(at)), y = p.reduce(load(at + 4));
            p.inverse(x, y, all(w[blocks + block]), all(q[blocks + block]));
            store(at, x), store(at + 4, y);
        }
        blocks /= 2, stride *= 2;
    }
    for (; blocks > 1; blocks /= 4, stride *= 4) {
        for (std::size_t block = 0; block < blocks / 2; ++block) {
            const std::size_t one = blocks / 2 + block, two = 2 * one, three = two + 1;
            const Vector w1 = all(w[one]), q1 = all(q[one]), w2 = all(w[two]), q2 = all(q[two]);
            const Vector w3 = all(w[three]), q3 = all(q[three]);
            std::uint64_t* at = values + 4 * block * stride;
            for (std::size_t i = 0; i < stride; i += 4, at += 4) {
                Vector x0 = p.reduce(load(at)), x1 = p.reduce(load(at + stride));
                Vector x2 = p.reduce(load(at + 2 * stride)), x3 = p.reduce(load(at + 3 * stride));
                p.inverse(x0, x1, w2, q2), p.inverse(x2, x3, w3, q3);
                p.inverse(x0, x2, w1, q1), p.inverse(x1, x3, w1, q1);
                store(at, x0), store(at + stride, x1), store(at + 2 * stride, x2), store(at + 3 * stride, x3);
            }
        }
    }
    const double n = static_cast<double>(factor.value);
    const Vector times = _mm256_set1_pd(n), ratio = _mm256_set1_pd(n / static_cast<double>(prime.value));
    for (std::size_t i = 0; i < prime.degree; i += 4) {
        store(values + i, p.canonical(p.multiply(p.reduce(load(values + i)), times, ratio)));
    }
}

inline Vector residue(const std::uint64_t* at) { return as_double(_mm256_castpd_si256(load(at))); }

// A product of two numbers below 2^50, below 1.5 p in size.
inline Vector multiply_any(const Prime& p, Vector x, Vector y) {
    const Vector high = _mm256_mul_pd(x, y);
    const Vector low = _mm256_fmsub_pd(x, y, high);
    const Vector quotient = _mm256_round_pd(_mm256_mul_pd(high, p.reciprocal), kNearest);
    return _mm256_add_pd(_mm256_fnmadd_pd(quotient, p.value, high), low);
}

void dot(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* const* left,
         const std::uint64_t* const* right, std::size_t count) {
    const Prime p(prime.value);
    for (std::size_t i = 0; i < prime.degree; i += 4) {
        Vector total = residue(out + i);
        for (std::size_t k = 0; k < count; ++k) {
            total = p.reduce(_mm256_add_pd(total, multiply_any(p, residue(left[k] + i), residue(right[k] + i))));
        }
        store(out + i, p.canonical(total));
    }
}

inline Vector four_small(const std::int8_t* at) {
    std::int32_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(bytes)));
}

void linear(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* const* left, const std::uint64_t* factors,
            std::size_t count, const std::int8_t* small, std::uint64_t constant) {
    const Prime p(prime.value);
    const Vector start = _mm256_set1_pd(static_cast<double>(constant));
    Vector times[4] = {};
    for (std::size_t k = 0; k < count; ++k) times[k] = _mm256_set1_pd(static_cast<double>(factors[k]));
    for (std::size_t i = 0; i < prime.degree; i += 4) {
        Vector total = small == nullptr ? start : _mm256_add_pd(start, four_small(small + i));
        for (std::size_t k = 0; k < count; ++k) {
            total = p.reduce(_mm256_add_pd(total, multiply_any(p, residue(left[k] + i), times[k])));
        }
        store(out + i, p.canonical(total));
    }
}

void scale(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* value, const Factor& factor) {
    const Prime p(prime.value);
    const double w = static_cast<double>(factor.value);
    const Vector times = _mm256_set1_pd(w), ratio = _mm256_set1_pd(w / static_cast<double>(prime.value));
    for (std::size_t i = 0; i < prime.degree; i += 4) {
        store(out + i, p.canonical(p.multiply(residue(value + i), times, ratio)));
    }
}

}  // namespace

const LatticeCore avx2_lattice_core = {
    0, 4, forward, inverse, dot, linear, scale,
    from_bytes, from_integers, count_above, subtract, cut, pack_scalar, unpack_scalar, Cipher<Words8>::stream, waves_scalar,
    slot_residues_scalar, slot_rounded_scalar, slot_pairs_scalar,
};

}  // namespace plumbob
