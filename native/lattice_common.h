// What every lattice core shares as source, not as code: each file that includes this compiles it for its own
// instruction set, so everything here has internal linkage.
#pragma once

#include <cstring>

#include "lattice_core.h"

namespace plumbob {
namespace {

using Wide = unsigned __int128;

constexpr std::uint64_t kLow52 = (std::uint64_t{1} << 52) - 1;
// So many products of 100 bits leave the part above 2^52 below 2^52.
constexpr std::size_t kChunk = 15;

// x - bound where that is not negative, x otherwise.
inline std::uint64_t reduce_once(std::uint64_t x, std::uint64_t bound) {
    const std::uint64_t less = x - bound;
    return less + (bound & (0 - (less >> 63)));
}

inline std::uint64_t multiply_lazily(std::uint64_t x, std::uint64_t factor, std::uint64_t quotient, std::uint64_t prime) {
    const std::uint64_t estimate = static_cast<std::uint64_t>(static_cast<Wide>(x) * quotient >> 64);
    return x * factor - estimate * prime;
}

// A sum of at most kChunk products, reduced. The prime is above 2^49.
inline std::uint64_t reduce_sum(const LatticePrime& prime, Wide sum) {
    const std::uint64_t p = prime.value;
    const std::uint64_t high = static_cast<std::uint64_t>(sum >> 52);
    std::uint64_t value = multiply_lazily(high, prime.carry.value, prime.carry.quotient, p);
    value += static_cast<std::uint64_t>(sum) & kLow52;
    value = reduce_once(value, 8 * p);
    value = reduce_once(value, 4 * p);
    value = reduce_once(value, 2 * p);
    return reduce_once(value, p);
}

[[maybe_unused]] void dot_scalar(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* const* left,
                                 const std::uint64_t* const* right, std::size_t count) {
    for (std::size_t i = 0; i < prime.degree; ++i) {
        std::uint64_t total = 0;
        for (std::size_t first = 0; first < count; first += kChunk) {
            const std::size_t end = first + kChunk < count ? first + kChunk : count;
            Wide sum = total;
            for (std::size_t k = first; k < end; ++k) sum += static_cast<Wide>(left[k][i]) * right[k][i];
            total = reduce_sum(prime, sum);
        }
        out[i] = total;
    }
}

[[maybe_unused]] void linear_scalar(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* const* left,
                                    const std::uint64_t* factors, std::size_t count) {
    for (std::size_t i = 0; i < prime.degree; ++i) {
        Wide sum = 0;
        for (std::size_t k = 0; k < count; ++k) sum += static_cast<Wide>(left[k][i]) * factors[k];
        out[i] = reduce_sum(prime, sum);
    }
}

[[maybe_unused]] void scale_scalar(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* value,
                                   const Factor& factor) {
    for (std::size_t i = 0; i < prime.degree; ++i) {
        out[i] = reduce_once(multiply_lazily(value[i], factor.value, factor.quotient, prime.value), prime.value);
    }
}

// ChaCha20 with a block per lane. The compiler turns each operation into whatever the instruction set has.
typedef std::uint32_t Words4 __attribute__((vector_size(16)));
typedef std::uint32_t Words8 __attribute__((vector_size(32)));
typedef std::uint32_t Words16 __attribute__((vector_size(64)));

template <class Vector>
struct Cipher {
    static constexpr unsigned kLanes = sizeof(Vector) / 4;

    static void rotate(Vector& x, int count) { x = x << count | x >> (32 - count); }

    static void quarter(Vector& a, Vector& b, Vector& c, Vector& d) {
        a += b, d ^= a, rotate(d, 16);
        c += d, b ^= c, rotate(b, 12);
        a += b, d ^= a, rotate(d, 8);
        c += d, b ^= c, rotate(b, 7);
    }

    static void blocks(const Vector (&start)[16], std::uint32_t* out) {
        Vector s[16];
        for (int k = 0; k < 16; ++k) s[k] = start[k];
        for (int round = 0; round < 10; ++round) {
            for (int k = 0; k < 4; ++k) quarter(s[k], s[4 + k], s[8 + k], s[12 + k]);
            for (int k = 0; k < 4; ++k) quarter(s[k], s[4 + (k + 1) % 4], s[8 + (k + 2) % 4], s[12 + (k + 3) % 4]);
        }
        for (int k = 0; k < 16; ++k) s[k] += start[k];
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            for (int k = 0; k < 16; ++k) out[16 * lane + k] = s[k][lane];
        }
    }

    static void stream(const std::uint32_t key[8], const std::uint32_t nonce[3], std::uint32_t first, std::uint64_t* out,
                       std::size_t count) {
        const std::uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
        Vector start[16];
        for (int k = 0; k < 4; ++k) start[k] = Vector{} + constants[k];
        for (int k = 0; k < 8; ++k) start[4 + k] = Vector{} + key[k];
        for (unsigned lane = 0; lane < kLanes; ++lane) start[12][lane] = first + lane;
        for (int k = 0; k < 3; ++k) start[13 + k] = Vector{} + nonce[k];
        alignas(64) std::uint32_t last[16 * kLanes];
        for (std::size_t done = 0; done < count; done += kLanes) {
            const std::size_t left = count - done;
            std::uint32_t* target = left >= kLanes ? reinterpret_cast<std::uint32_t*>(out) + 16 * done : last;
            blocks(start, target);
            if (left < kLanes) std::memcpy(reinterpret_cast<std::uint32_t*>(out) + 16 * done, last, 64 * left);
            start[12] += kLanes;
        }
    }
};

}  // namespace
}  // namespace plumbob
