// The field modulo 2^255 - 19 by products of 52 bits: five digits of 51 bits, each in a word of eight lanes.
#pragma once

#include "field25519_five.h"

namespace plumbob {
namespace {

// `Lanes` brings, beside what edwards.h wants: add_low and add_high, which add the lower and the upper half of a product
// of 104 bits. They take no more than 52 bits of a factor, so every sum is carried before it is multiplied.
template <class Lanes>
struct IfmaField : FiveDigits<Lanes> {
    using Base = FiveDigits<Lanes>;
    using typename Base::Element;
    using typename Base::Machine;
    using typename Base::Word;
    using Base::kBits, Base::kDigits, Base::kMask;

    struct Wide {
        Word columns[kDigits];
    };

    static PLUMBOB_INLINE Wide widened(const Element& a) {
        return {{a.digits[0], a.digits[1], a.digits[2], a.digits[3], a.digits[4]}};
    }

    static PLUMBOB_INLINE Wide add(const Wide& a, const Wide& b) {
        Wide result;
        for (unsigned i = 0; i < kDigits; ++i) result.columns[i] = a.columns[i] + b.columns[i];
        return result;
    }

    // Adds 2^shift times the modulus, so that no column is negative.
    template <unsigned kShift>
    static PLUMBOB_INLINE Wide less(const Wide& a, const Wide& b) {
        Wide result;
        for (unsigned i = 0; i < kDigits; ++i) {
            const std::uint64_t multiple = (kMask - (i == 0 ? 18 : 0)) << kShift;
            result.columns[i] = a.columns[i] + (Machine::spread(multiple) - b.columns[i]);
        }
        return result;
    }

    static PLUMBOB_INLINE Wide subtract(const Wide& a, const Wide& b) { return less<8>(a, b); }
    static PLUMBOB_INLINE Element sum(const Element& a, const Element& b) { return carried(add(widened(a), widened(b))); }
    static PLUMBOB_INLINE Element difference(const Element& a, const Element& b) {
        return carried(less<1>(widened(a), widened(b)));
    }
    static PLUMBOB_INLINE Element tightened(const Element& a) { return a; }

    static PLUMBOB_INLINE Word times_nineteen(const Word& a) { return (a << 4) + ((a << 1) + a); }

    // All carries at once: one digit takes what another had before.
    static PLUMBOB_INLINE Element carried(const Wide& a) {
        const Word mask = Machine::spread(kMask);
        Element result;
        result.digits[0] = Machine::add_low(a.columns[0] & mask, a.columns[4] >> kBits, Machine::spread(19));
        for (unsigned i = 1; i < kDigits; ++i) result.digits[i] = (a.columns[i] & mask) + (a.columns[i - 1] >> kBits);
        return result;
    }

    // The upper columns are folded into the lower ones: 2^255 is 19.
    static PLUMBOB_INLINE Wide folded(const Word* columns) {
        Wide result;
        for (unsigned i = 0; i < kDigits; ++i) result.columns[i] = columns[i] + times_nineteen(columns[kDigits + i]);
        return result;
    }

    // An upper half counts 2^52, twice a digit: upper halves are summed and doubled once, and lower halves added to that.
    static PLUMBOB_INLINE Wide product(const Element& left, const Element& right) {
        const Word *a = left.digits, *b = right.digits;
        Word columns[2 * kDigits];
#pragma GCC unroll 10
        for (unsigned i = 0; i < 2 * kDigits; ++i) columns[i] = Machine::spread(0);
#pragma GCC unroll 5
        for (unsigned i = 0; i < kDigits; ++i) {
#pragma GCC unroll 5
            for (unsigned j = 0; j < kDigits; ++j) columns[i + j + 1] = Machine::add_high(columns[i + j + 1], a[i], b[j]);
        }
#pragma GCC unroll 10
        for (unsigned i = 1; i < 2 * kDigits; ++i) columns[i] = columns[i] + columns[i];
#pragma GCC unroll 5
        for (unsigned i = 0; i < kDigits; ++i) {
#pragma GCC unroll 5
            for (unsigned j = 0; j < kDigits; ++j) columns[i + j] = Machine::add_low(columns[i + j], a[i], b[j]);
        }
        return folded(columns);
    }

    // Products of different digits count twice: all but the lower halves of squares are doubled at the end.
    static PLUMBOB_INLINE Wide squared(const Element& value) {
        const Word* a = value.digits;
        Word columns[2 * kDigits];
#pragma GCC unroll 10
        for (unsigned i = 0; i < 2 * kDigits; ++i) columns[i] = Machine::spread(0);
#pragma GCC unroll 5
        for (unsigned i = 0; i < kDigits; ++i) {
#pragma GCC unroll 5
            for (unsigned j = i + 1; j < kDigits; ++j)
                columns[i + j + 1] = Machine::add_high(columns[i + j + 1], a[i], a[j]);
        }
#pragma GCC unroll 10
        for (unsigned i = 2; i < 2 * kDigits - 1; ++i) columns[i] = columns[i] + columns[i];
#pragma GCC unroll 5
        for (unsigned i = 0; i < kDigits; ++i) {
            columns[2 * i + 1] = Machine::add_high(columns[2 * i + 1], a[i], a[i]);
#pragma GCC unroll 5
            for (unsigned j = i + 1; j < kDigits; ++j) columns[i + j] = Machine::add_low(columns[i + j], a[i], a[j]);
        }
#pragma GCC unroll 10
        for (unsigned i = 1; i < 2 * kDigits; ++i) columns[i] = columns[i] + columns[i];
#pragma GCC unroll 5
        for (unsigned i = 0; i < kDigits; ++i) columns[2 * i] = Machine::add_low(columns[2 * i], a[i], a[i]);
        return folded(columns);
    }

    // A product costs less than a sum with its carries and a square.
    static PLUMBOB_INLINE Wide twice_product(const Element& a, const Element& b, const Wide&) {
        const Wide single = product(a, b);
        return add(single, single);
    }

    static PLUMBOB_INLINE Element multiply(const Element& a, const Element& b) { return carried(product(a, b)); }
    static PLUMBOB_INLINE Element square(const Element& a) { return carried(squared(a)); }

    static Element canonical(const Element& a) { return Base::reduced(carried(widened(a))); }
};

}  // namespace
}  // namespace plumbob
