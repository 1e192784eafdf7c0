// The field modulo 2^255 - 19 for any machine: one residue in five digits of 51 bits, products of 128 bits.
#pragma once

#include "field25519_five.h"

namespace plumbob {
namespace {

// `Lanes` brings, beside what edwards.h wants: WideWord, and multiply, narrowed.
template <class Lanes>
struct PortableField : FiveDigits<Lanes> {
    using Base = FiveDigits<Lanes>;
    using typename Base::Element;
    using typename Base::Machine;
    using typename Base::Word;
    using Base::kBits, Base::kDigits, Base::kMask, Base::times_nineteen;
    using WideWord = typename Machine::WideWord;

    struct Wide {
        WideWord columns[kDigits];
    };

    static PLUMBOB_INLINE Element sum(const Element& a, const Element& b) {
        Element result;
        for (unsigned i = 0; i < kDigits; ++i) result.digits[i] = a.digits[i] + b.digits[i];
        return result;
    }

    // Twice the modulus is added, so that no digit is negative.
    static PLUMBOB_INLINE Element difference(const Element& a, const Element& b) {
        Element result;
        for (unsigned i = 0; i < kDigits; ++i) {
            const std::uint64_t twice = 2 * (kMask - (i == 0 ? 18 : 0));
            result.digits[i] = a.digits[i] + Machine::spread(twice) - b.digits[i];
        }
        return result;
    }

    static PLUMBOB_INLINE Element tightened(const Element& a) {
        const Word mask = Machine::spread(kMask);
        Element result;
        result.digits[0] = (a.digits[0] & mask) + times_nineteen(a.digits[4] >> kBits);
        for (unsigned i = 1; i < kDigits; ++i) result.digits[i] = (a.digits[i] & mask) + (a.digits[i - 1] >> kBits);
        return result;
    }

    static PLUMBOB_INLINE Wide product(const Element& left, const Element& right) {
        const Word *a = left.digits, *b = right.digits;
        const Word b1 = times_nineteen(b[1]), b2 = times_nineteen(b[2]), b3 = times_nineteen(b[3]),
                   b4 = times_nineteen(b[4]);
        return {{times(a[0], b[0]) + times(a[1], b4) + times(a[2], b3) + times(a[3], b2) + times(a[4], b1),
                 times(a[0], b[1]) + times(a[1], b[0]) + times(a[2], b4) + times(a[3], b3) + times(a[4], b2),
                 times(a[0], b[2]) + times(a[1], b[1]) + times(a[2], b[0]) + times(a[3], b4) + times(a[4], b3),
                 times(a[0], b[3]) + times(a[1], b[2]) + times(a[2], b[1]) + times(a[3], b[0]) + times(a[4], b4),
                 times(a[0], b[4]) + times(a[1], b[3]) + times(a[2], b[2]) + times(a[3], b[1]) + times(a[4], b[0])}};
    }

    static PLUMBOB_INLINE Wide squared(const Element& value) {
        const Word* a = value.digits;
        const Word twice0 = a[0] + a[0], twice1 = a[1] + a[1], twice2 = a[2] + a[2], twice3 = a[3] + a[3];
        const Word a3 = times_nineteen(a[3]), a4 = times_nineteen(a[4]);
        return {{times(a[0], a[0]) + times(twice1, a4) + times(twice2, a3),
                 times(twice0, a[1]) + times(twice2, a4) + times(a[3], a3),
                 times(twice0, a[2]) + times(a[1], a[1]) + times(twice3, a4),
                 times(twice0, a[3]) + times(twice1, a[2]) + times(a[4], a4),
                 times(twice0, a[4]) + times(twice1, a[3]) + times(a[2], a[2])}};
    }

    static PLUMBOB_INLINE WideWord times(const Word& a, const Word& b) { return Machine::multiply(a, b); }

    static PLUMBOB_INLINE Wide widened(const Element& a) {
        Wide result;
        for (unsigned i = 0; i < kDigits; ++i) result.columns[i] = WideWord(a.digits[i]);
        return result;
    }

    static PLUMBOB_INLINE Wide add(const Wide& a, const Wide& b) {
        Wide result;
        for (unsigned i = 0; i < kDigits; ++i) result.columns[i] = a.columns[i] + b.columns[i];
        return result;
    }

    // A multiple of the modulus above all columns is added.
    static PLUMBOB_INLINE Wide subtract(const Wide& a, const Wide& b) {
        Wide result;
        for (unsigned i = 0; i < kDigits; ++i) {
            const unsigned __int128 multiple = static_cast<unsigned __int128>(kMask - (i == 0 ? 18 : 0)) << 63;
            result.columns[i] = a.columns[i] + WideWord(multiple) - b.columns[i];
        }
        return result;
    }

    static PLUMBOB_INLINE Element carried(const Wide& wide) {
        const Word mask = Machine::spread(kMask);
        Element result;
        WideWord column = wide.columns[0];
        for (unsigned i = 0; i + 1 < kDigits; ++i) {
            result.digits[i] = Machine::narrowed(column) & mask;
            column = wide.columns[i + 1] + (column >> kBits);
        }
        result.digits[4] = Machine::narrowed(column) & mask;
        const WideWord over = column >> kBits;
        const WideWord low = WideWord(result.digits[0]) + (over << 4) + (over << 1) + over;
        result.digits[0] = Machine::narrowed(low) & mask;
        result.digits[1] = result.digits[1] + Machine::narrowed(low >> kBits);
        return result;
    }

    static PLUMBOB_INLINE Element multiply(const Element& a, const Element& b) { return carried(product(a, b)); }
    static PLUMBOB_INLINE Element square(const Element& a) { return carried(squared(a)); }

    // Negative: a^2 + b^2 - (a + b)^2.
    static PLUMBOB_INLINE Wide twice_product(const Element& a, const Element& b, const Wide& squares) {
        return subtract(squares, squared(sum(a, b)));
    }

    static Element canonical(const Element& a) { return Base::reduced(tightened(tightened(a))); }
};

}  // namespace
}  // namespace plumbob
