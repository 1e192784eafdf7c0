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

void forward_tail(const LatticePrime& prime, const Prime& p, std::uint64_t* values) {
    const Vector lower_halves = _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11);
    const Vector upper_halves = _mm512_setr_epi64(4, 5, 6, 7, 12, 13, 14, 15);
    const Vector lower_pairs = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
    const Vector upper_pairs = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
    const Vector even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const Vector odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const Vector first = _mm512_setr_epi64(0, 8, 4, 12, 2, 10, 6, 14);
    const Vector second = _mm512_setr_epi64(1, 9, 5, 13, 3, 11, 7, 15);
    const std::uint64_t* factors = prime.forward_tail;
    for (std::size_t i = 0; i < prime.degree; i += 16, factors += 48) {
        const Vector a = load(values + i), b = load(values + i + 8);
        Vector x = pick(a, b, lower_halves), y = pick(a, b, upper_halves);
        p.forward(x, y, load(factors), load(factors + 8));
        Vector u = pick(x, y, lower_pairs), v = pick(x, y, upper_pairs);
        p.forward(u, v, load(factors + 16), load(factors + 24));
        x = pick(u, v, even), y = pick(u, v, odd);
        p.forward(x, y, load(factors + 32), load(factors + 40));
        x = reduce(reduce(x, p.twice), p.value), y = reduce(reduce(y, p.twice), p.value);
        store(values + i, pick(x, y, first));
        store(values + i + 8, pick(x, y, second));
    }
}

void inverse_tail(const LatticePrime& prime, const Prime& p, std::uint64_t* values) {
    const Vector even = _mm512_setr_epi64(0, 8, 4, 12, 2, 10, 6, 14);
    const Vector odd = _mm512_setr_epi64(1, 9, 5, 13, 3, 11, 7, 15);
    const Vector lower_pairs = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const Vector upper_pairs = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    const Vector lower_halves = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const Vector upper_halves = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const Vector first = _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11);
    const Vector second = _mm512_setr_epi64(4, 5, 6, 7, 12, 13, 14, 15);
    const std::uint64_t* factors = prime.inverse_tail;
    for (std::size_t i = 0; i < prime.degree; i += 16, factors += 48) {
        const Vector a = load(values + i), b = load(values + i + 8);
        Vector x = pick(a, b, even), y = pick(a, b, odd);
        p.inverse(x, y, load(factors + 32), load(factors + 40));
        Vector u = pick(x, y, lower_pairs), v = pick(x, y, upper_pairs);
        p.inverse(u, v, load(factors + 16), load(factors + 24));
        x = pick(u, v, lower_halves), y = pick(u, v, upper_halves);
        p.inverse(x, y, load(factors), load(factors + 8));
        store(values + i, pick(x, y, first));
        store(values + i + 8, pick(x, y, second));
    }
}

// Two strides at once, so that values are loaded and stored half as often.
void forward(const LatticePrime& prime, std::uint64_t* values) {
    const Prime p(prime.value);
    const std::uint64_t *w = prime.forward, *q = prime.forward_quotients;
    std::size_t blocks = 1, stride = prime.degree / 2;
    for (; stride >= 16; blocks *= 4, stride /= 4) {
        const std::size_t half = stride / 2;
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::size_t one = blocks + block, two = 2 * one, three = two + 1;
            const Vector w1 = all(w[one]), q1 = all(q[one]), w2 = all(w[two]), q2 = all(q[two]);
            const Vector w3 = all(w[three]), q3 = all(q[three]);
            std::uint64_t* at = values + 2 * block * stride;
            for (std::size_t i = 0; i < half; i += 8, at += 8) {
                Vector x0 = load(at), x1 = load(at + half), x2 = load(at + stride), x3 = load(at + stride + half);
                p.forward(x0, x2, w1, q1), p.forward(x1, x3, w1, q1);
                p.forward(x0, x1, w2, q2), p.forward(x2, x3, w3, q3);
                store(at, x0), store(at + half, x1), store(at + stride, x2), store(at + stride + half, x3);
            }
        }
    }
    if (stride == 8) {
        for (std::size_t block = 0; block < blocks; ++block) {
            std::uint64_t* at = values + 16 * block;
            Vector x = load(at), y = load(at + 8);
            p.forward(x, y, all(w[blocks + block]), all(q[blocks + block]));
            store(at, x), store(at + 8, y);
        }
    }
    forward_tail(prime, p, values);
}

void scale(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* value, const Factor& factor) {
    const Prime p(prime.value);
    const Vector w = all(factor.value), q = all(factor.quotient52);
    for (std::size_t i = 0; i < prime.degree; i += 8) {
        store(out + i, reduce(p.multiply(load(value + i), w, q), p.value));
    }
}

void inverse(const LatticePrime& prime, std::uint64_t* values) {
    const Prime p(prime.value);
    const std::uint64_t *w = prime.inverse, *q = prime.inverse_quotients;
    inverse_tail(prime, p, values);
    std::size_t blocks = prime.degree / 16, stride = 8;
    // An odd number of strides is left with one that stands alone; here it is the first.
    bool is_single = false;
    for (std::size_t left = blocks; left > 0; left /= 2) is_single = !is_single;
    if (is_single) {
        for (std::size_t block = 0; block < blocks; ++block) {
            std::uint64_t* at = values + 16 * block;
            Vector x = load(at), y = load(at + 8);
            p.inverse(x, y, all(w[blocks + block]), all(q[blocks + block]));
            store(at, x), store(at + 8, y);
        }
        blocks /= 2, stride *= 2;
    }
    for (; blocks > 1; blocks /= 4, stride *= 4) {
        for (std::size_t block = 0; block < blocks / 2; ++block) {
            const std::size_t one = blocks / 2 + block, two = 2 * one, three = two + 1;
            const Vector w1 = all(w[one]), q1 = all(q[one]), w2 = all(w[two]), q2 = all(q[two]);
            const Vector w3 = all(w[three]), q3 = all(q[three]);
            std::uint64_t* at = values + 4 * block * stride;
            for (std::size_t i = 0; i < stride; i += 8, at += 8) {
                Vector x0 = load(at), x1 = load(at + stride), x2 = load(at + 2 * stride), x3 = load(at + 3 * stride);
                p.inverse(x0, x1, w2, q2), p.inverse(x2, x3, w3, q3);
                p.inverse(x0, x2, w1, q1), p.inverse(x1, x3, w1, q1);
                store(at, x0), store(at + stride, x1), store(at + 2 * stride, x2), store(at + 3 * stride, x3);
            }
        }
    }
    scale(prime, values, values, prime.degree_inverse);
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
        Vector total = _mm512_setzero_si512(), other = _mm512_setzero_si512();
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

void linear(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* const* left, const std::uint64_t* factors,
            std::size_t count) {
    const Prime p(prime.value);
    const Vector carry = all(prime.carry.value), quotient = all(prime.carry.quotient52);
    for (std::size_t i = 0; i < prime.degree; i += 8) {
        Sum sum;
        for (std::size_t k = 0; k < count; ++k) sum.add(load(left[k] + i), all(factors[k]));
        store(out + i, sum.reduced(p, carry, quotient));
    }
}

}  // namespace

const LatticeCore avx512ifma_lattice_core = {
    52, 8, forward, inverse, dot, linear, scale, Cipher<Words16>::stream,
};

}  // namespace plumbob
