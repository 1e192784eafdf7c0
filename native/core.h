// What a core is: the arithmetic of one instruction set, as a handful of functions on blocks of residues.
//
// A residue modulo n^2 is kept in n-adic form, c0 + c1 n, and in Montgomery form with radix R = 2^(digit_bits * digits)
// >= 16 n. Halves are reduced lazily: they stay below 2 n, never exactly reduced, and no product needs a conditional
// subtraction.
//
//   c0 d0 + m n = R t            (m: the quotient digits of a Montgomery reduction), hence   c0 d0 = R t - m n   and
//   C D / R = t + u n  with  u = (c0 d1 + c1 d0 - m) / R  modulo n, a second Montgomery reduction.
//
// -m = complement(m) + 1 - R, digit by digit, and 1 - R is replaced by the non-negative `shift` = n - (R mod n) + 1,
// equal modulo n:
//   u = reduce(c0 d1 + c1 d0 + complement(m) + shift).
// From halves below 2 n follow t < (4 n^2 + R n) / R <= 1.25 n and u < (8 n^2 + R + n + 1 + R n) / R < 1.5 n + 2: the
// form is closed. Three half-size products and two half-size reductions replace a product and a reduction of full size.
// Modulo n (degree 1) only t exists.
//
// The functions of a core know no standard library: they are compiled for one instruction set, and an inline function
// shared with the rest of the program could otherwise be merged with a copy that other machines cannot execute.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbob {

constexpr unsigned kMaxRootBits = 4096;
constexpr unsigned kMaxLimbs = kMaxRootBits / 64 + 1;  // of 64 bits
constexpr unsigned kMaxDigits = 160;                   // of 27 bits or more, rounded up to a multiple of four
constexpr unsigned kMaxLanes = 8;
constexpr unsigned kMaxWindow = 6;  // bits of an exponent that `select` looks up at once

// Residues in flight, one per lane: digit k of half h in lane l is block[(h * digits + k) * lanes + l]; 64-byte
// aligned.
using Block = std::uint64_t*;
using ConstBlock = const std::uint64_t*;

struct Modulus {
    unsigned degree;
    unsigned digits;  // of a half
    unsigned digit_bits;
    std::uint64_t inverse;  // -1/n modulo 2^digit_bits
    ConstBlock root;        // n, one half, the same in all lanes
    ConstBlock shift;       // the constant above, likewise
};

struct Core {
    unsigned lanes;
    unsigned digit_bits;       // at most
    unsigned digit_multiple;   // the number of digits is a multiple of this
    unsigned stored_bytes;     // of a digit in storage, where an element is [half][digit] without gaps
    bool sums_whole_products;  // a column of the product collects products of full length, which bounds digit_bits

    // Results may overlap arguments.
    void (*multiply)(const Modulus&, Block out, ConstBlock left, ConstBlock right);
    void (*square)(const Modulus&, Block out, ConstBlock value);
    // From storage to a block and back; `digits` counts those of all halves. `store` leaves out lanes without an
    // address.
    void (*load)(Block out, const void* const* elements, unsigned digits);
    void (*store)(void* const* elements, ConstBlock block, unsigned digits);
    // out = entries[index], of at most 2^kMaxWindow, reading all of them, with neither branch nor address that depends
    // on the index.
    void (*select)(Block out, ConstBlock entries, unsigned count, std::size_t words, unsigned index);
    // Only for scalar cores: the n-adic form of x / R, for x of 2 * digits limbs.
    void (*split)(const Modulus&, Block out, const std::uint64_t* x);
};

extern const Core scalar_core;
#if defined(__x86_64__)
extern const Core avx2_core;
extern const Core avx512ifma_core;
#endif

namespace {

// Shared text, but a copy of its own in every translation unit: see above. `words` is a multiple of kStep, which fits a
// few registers.
template <unsigned kStep>
inline void select_entry(Block out, ConstBlock entries, unsigned count, std::size_t words, unsigned index) {
    std::uint64_t masks[1 << kMaxWindow];
    for (unsigned entry = 0; entry < count; ++entry) {
        masks[entry] = 0 - static_cast<std::uint64_t>(entry == index);
        __asm__(
            ""
            : "+r"(masks[entry]));  // Keeps the compiler from seeing that a mask is 0 or all ones, and from branching.
    }
    for (std::size_t word = 0; word < words; word += kStep) {
        std::uint64_t selected[kStep] = {};
        for (unsigned entry = 0; entry < count; ++entry) {
            for (unsigned i = 0; i < kStep; ++i) selected[i] |= masks[entry] & entries[entry * words + word + i];
        }
        for (unsigned i = 0; i < kStep; ++i) out[word + i] = selected[i];
    }
}

}  // namespace
}  // namespace plumbob
