// What a core of the group is: ristretto255 (RFC 9496) for one instruction set, as a handful of functions on bytes.
//
// A point is 32 bytes, RFC 9496's encoding, of which each element has exactly one. One file for each instruction set
// fills in an EdwardsCore (native/field25519_*.cpp) from one description (native/edwards.h); ristretto.cpp calls through
// it. Like the other cores, these functions know no standard library: see core.h. The caller passes all memory, aligned to
// 64 bytes, and wipes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbob {

constexpr std::size_t kPointBytes = 32;
constexpr std::size_t kUniformBytes = 64;
constexpr std::size_t kFactorBytes = 16;
constexpr unsigned kScalarDigits = 64;
constexpr std::size_t kNoneRefused = ~std::size_t{0};

// Digits of a scalar in base 16, lowest first, each from -8 to 8.
using ScalarDigits = std::int8_t[kScalarDigits];

struct EdwardsCore {
    unsigned lanes;
    std::size_t batch;         // as many points share an inversion, and a call should have at most as many
    std::size_t room_words;    // of 64 bits, that `multiply` and `multiply_mapped` need
    std::size_t bucket_words;  // of one set of buckets

    // All return the place of the first point that is refused, or kNoneRefused; then `out` is not to be used. Refused are
    // bytes that no element of the group has as its encoding, and the identity. `digits` are of half the scalar.
    std::size_t (*multiply)(std::uint8_t* out, const std::uint8_t* points, std::size_t count, const ScalarDigits& digits,
                            std::uint64_t* room);
    // Of 64 uniform bytes each: the element that they are mapped to, times a scalar if there is one.
    std::size_t (*multiply_mapped)(std::uint8_t* out, const std::uint8_t* uniform, std::size_t count,
                                   const ScalarDigits* digits, std::uint64_t* room);
    // One sum for each pair. A sum may be the identity.
    std::size_t (*add)(std::uint8_t* out, const std::uint8_t* left, const std::uint8_t* right, std::size_t count);

    // The rest is for public numbers only: addresses depend on factors.
    void (*clear)(std::uint64_t* buckets);
    // Adds factors times points; factors are signed numbers of 128 bits.
    std::size_t (*combine)(std::uint64_t* buckets, const std::uint8_t* points, const std::uint8_t* factors,
                           std::size_t count);
    // The sum of all that was added to one of the sets. It may be the identity.
    void (*join)(std::uint8_t* out, const std::uint64_t* const* sets, std::size_t count);
};

extern const EdwardsCore portable_edwards_core;
#if defined(__x86_64__)
extern const EdwardsCore avx2_edwards_core;
extern const EdwardsCore avx512ifma_edwards_core;
#endif

}  // namespace plumbob
