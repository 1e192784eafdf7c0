// The arithmetic of the lattice kernel that is worth an instruction set of its own: transforms, sums of products and the
// stream cipher. One file for each instruction set fills in a LatticeCore; the rest of the kernel calls through it.
//
// Residues are modulo primes below 2^50. A product with a known factor w is reduced with a precomputed quotient
// floor(w 2^B / p): the result is below 2 p, for any other factor below 2^B. No function branches on, or addresses by, a
// residue: they may be secret.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbob {

constexpr unsigned kPrimeBits = 50;
constexpr unsigned kMostPrimes = 6;
constexpr unsigned kSlotPrimes = 3;
constexpr unsigned kWordsPerStreamBlock = 8;
constexpr std::size_t kMostDegree = 32768;

// Sines of multiples of angles: round(sin(harmonic angle + shift) scale / 2^dropped), where a turn is 2^32, a sine has 30
// fraction bits, and the scale is a signed number of 32 bits.
struct Wave {
    std::uint32_t harmonic;
    std::uint32_t shift;
    std::int64_t scale;
    unsigned dropped;
};

struct Factor {
    std::uint64_t value;
    std::uint64_t quotient;    // of 64 bits
    std::uint64_t quotient52;  // of 52 bits
};

// A prime and the powers of its root, in bit-reversed order. Which of the arrays are filled is the core's choice.
struct LatticePrime {
    std::uint64_t value;
    std::size_t degree;
    const std::uint64_t* forward;
    const std::uint64_t* forward_quotients;
    const std::uint64_t* inverse;
    const std::uint64_t* inverse_quotients;
    // The last strides, whose factors differ from lane to lane: in the order in which a core of four lanes takes them.
    const std::uint64_t* forward_tail;
    const std::uint64_t* inverse_tail;
    Factor degree_inverse;
    Factor carry;  // 2^52 modulo the prime
};

// What takes numbers in slots apart and puts them together again: t is the product of the slot primes t_j, and q that of
// the primes p_i.
struct SlotTables {
    std::size_t degree, parts;                      // how many p_i there are
    LatticePrime primes[kSlotPrimes];               // t_j
    Factor ones[kSlotPrimes];                       // 1 modulo t_j
    Factor words[kSlotPrimes][2];                   // 2^50 and 2^100 modulo t_j
    std::uint64_t wholes[kMostPrimes][kSlotPrimes]; // floor(t / p_i) modulo t_j
    std::uint64_t fractions[kMostPrimes][3];        // t / p_i modulo 1, in units of 2^-52, 2^-104 and 2^-156
    std::uint64_t rests[kSlotPrimes][2];            // t / t_j, in units of 1 and 2^52
    std::uint64_t modulus[2];                       // t, in units of 1 and 2^64
};

struct LatticeCore {
    unsigned quotient_bits;  // 64 or 52; 0 if a quotient is the bits of the double w / p and a power is one of w
    unsigned lanes;          // strides below it are the tail's
    // From coefficients below the prime to values below the prime, in place; and back, where the degree's inverse is part
    // of the factor that all coefficients are multiplied with.
    void (*forward)(const LatticePrime&, std::uint64_t* values);
    void (*inverse)(const LatticePrime&, std::uint64_t* values, const Factor& factor);
    // out += the sum of left[k] * right[k], element by element; all are below a prime above 2^49.
    void (*dot)(const LatticePrime&, std::uint64_t* out, const std::uint64_t* const* left,
                const std::uint64_t* const* right, std::size_t count);
    // out = the sum of left[k] * factors[k], element by element, plus a constant below the prime and a small number each,
    // if there are any; left below 2^50, the prime above 2^49, and at most four products.
    void (*linear)(const LatticePrime&, std::uint64_t* out, const std::uint64_t* const* left, const std::uint64_t* factors,
                   std::size_t count, const std::int8_t* small, std::uint64_t constant);
    // out = value * factor, element by element, for any prime and values below 2^52.
    void (*scale)(const LatticePrime&, std::uint64_t* out, const std::uint64_t* value, const Factor& factor);
    // Small signed numbers as residues.
    void (*from_bytes)(const LatticePrime&, std::uint64_t* out, const std::int8_t* small);
    void (*from_integers)(const LatticePrime&, std::uint64_t* out, const std::int32_t* small);
    // counts[i] += whether a value, below 2^50, is above a bound.
    void (*count_above)(const LatticePrime&, std::uint64_t* counts, const std::uint64_t* values, std::uint64_t bound);
    // out = left - right.
    void (*subtract)(const LatticePrime&, std::uint64_t* out, const std::uint64_t* left, const std::uint64_t* right);
    // Cuts words to 50 bits. The sign bit of the result is set if one of them is not below the prime.
    std::uint64_t (*cut)(const LatticePrime&, std::uint64_t* words);
    // The wire: four residues of 50 bits in 25 bytes; the result as above.
    void (*pack)(const LatticePrime&, std::uint8_t* out, const std::uint64_t* values);
    std::uint64_t (*unpack)(const LatticePrime&, std::uint64_t* out, const std::uint8_t* packed);
    // The ChaCha20 stream (RFC 8439) from a block on.
    void (*stream)(const std::uint32_t key[8], const std::uint32_t nonce[3], std::uint32_t first, std::uint64_t* out,
                   std::size_t blocks);
    void (*waves)(const Wave&, std::int32_t* out, const std::uint32_t* angles, std::size_t count);
    // Numbers of two words modulo one of the slot primes.
    void (*slot_residues)(const SlotTables&, std::size_t j, std::uint64_t* out, const std::uint64_t* pairs);
    // round(t x / q) modulo each slot prime, one array after the other, from x (q / p_i)^-1 modulo each p_i. What is cut off
    // from t / p_i makes the result wrong only where t x / q is within 2^-100 of a half.
    void (*slot_rounded)(const SlotTables&, std::uint64_t* out, const std::uint64_t* scaled);
    // The numbers below t, two words each, that are the sum of weights[j] t / t_j modulo t.
    void (*slot_pairs)(const SlotTables&, std::uint64_t* out, const std::uint64_t* weights);
};

extern const LatticeCore portable_lattice_core;
#if defined(__x86_64__)
extern const LatticeCore avx2_lattice_core;
extern const LatticeCore avx512ifma_lattice_core;
#endif

}  // namespace plumbob
