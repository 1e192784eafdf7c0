// What every lattice core shares as source, not as code: each file that includes this compiles it for its own
// instruction set, so everything here has internal linkage.
#pragma once

#include <cstring>

#include "lattice_core.h"

namespace plumbob {
namespace {

using Wide = unsigned __int128;

constexpr std::uint64_t kLow50 = (std::uint64_t{1} << kPrimeBits) - 1;
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
        std::uint64_t total = out[i];
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
                                    const std::uint64_t* factors, std::size_t count, const std::int8_t* small,
                                    std::uint64_t constant) {
    for (std::size_t i = 0; i < prime.degree; ++i) {
        // The prime makes up for a small number that is negative.
        Wide sum = constant + prime.value + static_cast<std::uint64_t>(small == nullptr ? 0 : std::int64_t{small[i]});
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

// These loops are left to the compiler, which has more to work with where the instruction set has. The degree is copied
// first: for all that the compiler knows, what is written could be the degree.

[[maybe_unused]] void from_bytes(const LatticePrime& prime, std::uint64_t* out, const std::int8_t* small) {
    const std::uint64_t p = prime.value;
    const std::size_t degree = prime.degree;
    for (std::size_t i = 0; i < degree; ++i) {
        const std::int64_t value = small[i];
        out[i] = static_cast<std::uint64_t>(value) + (p & static_cast<std::uint64_t>(value >> 63));
    }
}

[[maybe_unused]] void from_integers(const LatticePrime& prime, std::uint64_t* out, const std::int32_t* small) {
    const std::uint64_t p = prime.value;
    const std::size_t degree = prime.degree;
    for (std::size_t i = 0; i < degree; ++i) {
        const std::int64_t value = small[i];
        out[i] = static_cast<std::uint64_t>(value) + (p & static_cast<std::uint64_t>(value >> 63));
    }
}

[[maybe_unused]] void subtract(const LatticePrime& prime, std::uint64_t* out, const std::uint64_t* left,
                               const std::uint64_t* right) {
    const std::uint64_t p = prime.value;
    const std::size_t degree = prime.degree;
    for (std::size_t i = 0; i < degree; ++i) out[i] = reduce_once(left[i] + p - right[i], p);
}

[[maybe_unused]] std::uint64_t cut(const LatticePrime& prime, std::uint64_t* words) {
    const std::uint64_t p = prime.value;
    const std::size_t degree = prime.degree;
    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < degree; ++i) {
        words[i] &= kLow50;
        refused |= p - 1 - words[i];
    }
    return refused;
}

[[maybe_unused]] void pack_scalar(const LatticePrime& prime, std::uint8_t* out, const std::uint64_t* values) {
    const std::size_t degree = prime.degree;
    for (std::size_t i = 0; i < degree; i += 4, out += 25) {
        const std::uint64_t a = values[i], b = values[i + 1], c = values[i + 2], d = values[i + 3];
        const std::uint64_t words[3] = {a | b << 50, b >> 14 | c << 36, c >> 28 | d << 22};
        std::memcpy(out, words, 24);
        out[24] = static_cast<std::uint8_t>(d >> 42);
    }
}

[[maybe_unused]] std::uint64_t unpack_scalar(const LatticePrime& prime, std::uint64_t* out, const std::uint8_t* packed) {
    const std::uint64_t p = prime.value;
    const std::size_t degree = prime.degree;
    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < degree; i += 4, packed += 25) {
        std::uint64_t w[3];
        std::memcpy(w, packed, 24);
        out[i] = w[0] & kLow50;
        out[i + 1] = (w[0] >> 50 | w[1] << 14) & kLow50;
        out[i + 2] = (w[1] >> 36 | w[2] << 28) & kLow50;
        out[i + 3] = w[2] >> 22 | static_cast<std::uint64_t>(packed[24]) << 42;
        for (int k = 0; k < 4; ++k) refused |= p - 1 - out[i + k];
    }
    return refused;
}

[[maybe_unused]] void count_above(const LatticePrime& prime, std::uint64_t* counts, const std::uint64_t* values,
                                  std::uint64_t bound) {
    const std::size_t degree = prime.degree;
    for (std::size_t i = 0; i < degree; ++i) counts[i] += (bound - values[i]) >> 63;
}

// Sines by a polynomial for a quarter of a turn, in integers, with no branch and no table.
constexpr std::int64_t kSine[6] = {1686629713, -693598663, 85569264, -5026851, 172032, -3670};

inline std::int64_t sine_of(std::uint32_t angle) {
    const std::int64_t x = static_cast<std::int32_t>(angle);
    const std::int64_t sign = x >> 63;
    const std::int64_t size = (x ^ sign) - sign;
    const std::int64_t beyond = ((std::int64_t{1} << 30) - size) >> 63;
    const std::int64_t folded = size + (beyond & ((std::int64_t{1} << 31) - 2 * size));
    const std::int64_t square = folded * folded >> 30;
    std::int64_t total = kSine[5];
    for (int k = 4; k >= 0; --k) total = kSine[k] + (total * square >> 30);
    const std::int64_t result = total * folded >> 30;
    return (result ^ sign) - sign;
}

[[maybe_unused]] void waves_scalar(const Wave& wave, std::int32_t* out, const std::uint32_t* angles, std::size_t count) {
    const std::int64_t half = (std::int64_t{1} << wave.dropped) >> 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t sine = sine_of(wave.harmonic * angles[i] + wave.shift);
        out[i] = static_cast<std::int32_t>((sine * wave.scale + half) >> wave.dropped);
    }
}

[[maybe_unused]] void slot_residues_scalar(const SlotTables& tables, std::size_t j, std::uint64_t* out,
                                           const std::uint64_t* pairs) {
    const std::uint64_t p = tables.primes[j].value;
    const Factor &one = tables.ones[j], *words = tables.words[j];
    const std::size_t degree = tables.degree;
    for (std::size_t i = 0; i < degree; ++i) {
        const std::uint64_t low = pairs[2 * i], high = pairs[2 * i + 1];
        std::uint64_t sum = multiply_lazily(low & kLow50, one.value, one.quotient, p);
        sum += multiply_lazily((low >> 50 | high << 14) & kLow50, words[0].value, words[0].quotient, p);
        sum += multiply_lazily(high >> 36, words[1].value, words[1].quotient, p);
        out[i] = reduce_once(reduce_once(reduce_once(sum, 4 * p), 2 * p), p);
    }
}

[[maybe_unused]] void slot_rounded_scalar(const SlotTables& tables, std::uint64_t* out, const std::uint64_t* scaled) {
    const std::size_t degree = tables.degree;
    for (std::size_t i = 0; i < degree; ++i) {
        std::uint64_t digits[4] = {};  // of the sum of fractions, from the whole part down
        Wide sums[kSlotPrimes] = {};
        for (std::size_t part = 0; part < tables.parts; ++part) {
            const std::uint64_t y = scaled[part * degree + i];
            for (int k = 0; k < 3; ++k) {
                const Wide product = static_cast<Wide>(y) * tables.fractions[part][k];
                digits[k] += static_cast<std::uint64_t>(product >> 52);
                digits[k + 1] += static_cast<std::uint64_t>(product) & kLow52;
            }
            for (std::size_t j = 0; j < kSlotPrimes; ++j) sums[j] += static_cast<Wide>(y) * tables.wholes[part][j];
        }
        digits[1] += digits[2] >> 52;
        const std::uint64_t rounded = digits[0] + ((digits[1] + (std::uint64_t{1} << 51)) >> 52);
        for (std::size_t j = 0; j < kSlotPrimes; ++j) {
            const LatticePrime& prime = tables.primes[j];
            const Wide sum = sums[j] + rounded;
            const std::uint64_t low = static_cast<std::uint64_t>(sum) & kLow52, high = static_cast<std::uint64_t>(sum >> 52);
            const std::uint64_t value = multiply_lazily(high, prime.carry.value, prime.carry.quotient, prime.value) +
                                        multiply_lazily(low, 1, tables.ones[j].quotient, prime.value);
            out[j * degree + i] = reduce_once(reduce_once(value, 2 * prime.value), prime.value);
        }
    }
}

[[maybe_unused]] void slot_pairs_scalar(const SlotTables& tables, std::uint64_t* out, const std::uint64_t* weights) {
    const std::size_t degree = tables.degree;
    const Wide modulus = static_cast<Wide>(tables.modulus[1]) << 64 | tables.modulus[0];
    Wide rests[kSlotPrimes];
    for (std::size_t j = 0; j < kSlotPrimes; ++j) rests[j] = static_cast<Wide>(tables.rests[j][1]) << 52 | tables.rests[j][0];
    for (std::size_t i = 0; i < degree; ++i) {
        Wide sum = 0;
        for (std::size_t j = 0; j < kSlotPrimes; ++j) sum += weights[j * degree + i] * rests[j];
        for (int k = 0; k < 2; ++k) {
            const Wide less = sum - modulus;
            sum = less + (modulus & (0 - (less >> 127)));
        }
        out[2 * i] = static_cast<std::uint64_t>(sum), out[2 * i + 1] = static_cast<std::uint64_t>(sum >> 64);
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
        for (unsigned first = 0; first < 16; first += kLanes) {
            transpose<1>(s + first);
            for (unsigned lane = 0; lane < kLanes; ++lane) std::memcpy(out + 16 * lane + first, s + first + lane, sizeof(Vector));
        }
    }

    // As many vectors as they have lanes, as a matrix: blocks of `kSize` elements change places, then larger ones.
    template <unsigned kSize>
    static void transpose(Vector* rows) {
        if constexpr (kSize < kLanes) {
            Vector lower, upper;
            for (unsigned lane = 0; lane < kLanes; ++lane) {
                const bool is_upper = (lane & kSize) != 0;
                lower[lane] = is_upper ? kLanes + lane - kSize : lane;
                upper[lane] = is_upper ? kLanes + lane : lane + kSize;
            }
            for (unsigned row = 0; row < kLanes; ++row) {
                if ((row & kSize) != 0) continue;
                const Vector a = rows[row], b = rows[row + kSize];
                rows[row] = __builtin_shuffle(a, b, lower);
                rows[row + kSize] = __builtin_shuffle(a, b, upper);
            }
            transpose<2 * kSize>(rows);
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
