// Scalar cores: one residue at a time, in 64-bit digits, row by row. `Row` adds a digit times a number to a number:
//   Row::multiply_add(sum, number, digit, digits): sum[0..digits) += number * digit, returns the digit that is carried
//   out.
#pragma once

#include "core.h"

namespace plumbob {
namespace {

using Wide = unsigned __int128;

template <class Row>
struct ScalarCore {
    // One digit of a Montgomery reduction: makes sum[0] zero; returns the quotient digit and adds to `carried`.
    static std::uint64_t cancel(const Modulus& modulus, std::uint64_t* sum, Wide& carried) {
        const std::uint64_t quotient = sum[0] * modulus.inverse;
        carried += Row::multiply_add(sum, modulus.root, quotient, modulus.digits);
        return quotient;
    }

    // What was carried out of a row goes to the digit above it; what does not fit there waits for the next row.
    static void settle(std::uint64_t& above, Wide& carried) {
        carried += above;
        above = static_cast<std::uint64_t>(carried);
        carried >>= 64;
    }

    // complement(quotient) + shift, in digits + 1 digits and then zeros.
    static void start_upper(const Modulus& modulus, std::uint64_t* sum, const std::uint64_t* quotient) {
        const unsigned digits = modulus.digits;
        Wide carried = 0;
        for (unsigned i = 0; i < digits; ++i) {
            carried += static_cast<Wide>(~quotient[i]) + modulus.shift[i];
            sum[i] = static_cast<std::uint64_t>(carried);
            carried >>= 64;
        }
        sum[digits] = static_cast<std::uint64_t>(carried);
        for (unsigned i = digits + 1; i < 2 * digits; ++i) sum[i] = 0;
    }

    // Both halves: (left0 + left1 n) (right0 + right1 n) / R; `second` is false when the caller has doubled right1 for
    // a square.
    static void product(const Modulus& modulus, Block out, ConstBlock left, ConstBlock right, ConstBlock right1,
                        bool second) {
        const unsigned digits = modulus.digits;
        std::uint64_t lower[2 * kMaxLimbs], upper[2 * kMaxLimbs], quotient[kMaxLimbs];
        for (unsigned i = 0; i < 2 * digits; ++i) lower[i] = 0;
        Wide carried = 0;
        for (unsigned i = 0; i < digits; ++i) {
            carried += Row::multiply_add(lower + i, right, left[i], digits);
            quotient[i] = cancel(modulus, lower + i, carried);
            settle(lower[i + digits], carried);
        }
        if (modulus.degree == 2) {
            start_upper(modulus, upper, quotient);
            carried = 0;
            for (unsigned i = 0; i < digits; ++i) {
                carried += Row::multiply_add(upper + i, right1, left[i], digits);
                if (second) carried += Row::multiply_add(upper + i, right, left[digits + i], digits);
                cancel(modulus, upper + i, carried);
                settle(upper[i + digits], carried);
            }
            for (unsigned i = 0; i < digits; ++i) out[digits + i] = upper[digits + i];
        }
        for (unsigned i = 0; i < digits; ++i) out[i] = lower[digits + i];
    }

    static void multiply(const Modulus& modulus, Block out, ConstBlock left, ConstBlock right) {
        product(modulus, out, left, right, right + modulus.digits, true);
    }

    static void square(const Modulus& modulus, Block out, ConstBlock value) {
        std::uint64_t doubled[kMaxLimbs];
        if (modulus.degree == 2) {
            std::uint64_t carried = 0;
            for (unsigned i = 0; i < modulus.digits; ++i) {
                const std::uint64_t digit = value[modulus.digits + i];
                doubled[i] = digit << 1 | carried;
                carried = digit >> 63;
            }
        }
        product(modulus, out, value, value, doubled, false);
    }

    static void split(const Modulus& modulus, Block out, const std::uint64_t* x) {
        const unsigned digits = modulus.digits;
        std::uint64_t lower[2 * kMaxLimbs], upper[2 * kMaxLimbs], quotient[kMaxLimbs];
        for (unsigned i = 0; i < 2 * digits; ++i) lower[i] = x[i];
        Wide carried = 0;
        for (unsigned i = 0; i < digits; ++i) {
            quotient[i] = cancel(modulus, lower + i, carried);
            settle(lower[i + digits], carried);
        }
        for (unsigned i = 0; i < digits; ++i) out[i] = lower[digits + i];
        if (modulus.degree == 1) return;
        start_upper(modulus, upper, quotient);
        carried = 0;
        for (unsigned i = 0; i < digits; ++i) {
            cancel(modulus, upper + i, carried);
            settle(upper[i + digits], carried);
        }
        for (unsigned i = 0; i < digits; ++i) out[digits + i] = upper[digits + i];
    }

    static void load(Block out, const void* const* elements, unsigned digits) {
        const auto* element = static_cast<const std::uint64_t*>(elements[0]);
        for (unsigned i = 0; i < digits; ++i) out[i] = element[i];
    }

    static void store(void* const* elements, ConstBlock block, unsigned digits) {
        auto* element = static_cast<std::uint64_t*>(elements[0]);
        if (element == nullptr) return;
        for (unsigned i = 0; i < digits; ++i) element[i] = block[i];
    }

    static constexpr Core make() { return {1, 64, 1, 8, false, multiply, square, load, store, select_entry<1>, split}; }
};

}  // namespace
}  // namespace plumbob
