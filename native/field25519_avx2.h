// The field modulo 2^255 - 19 by products of 32 bits: ten digits of 26 and 25 bits in turns, each in a word of four lanes.
#pragma once

#include "edwards.h"

namespace plumbob {
namespace {

// `Lanes` brings, beside what edwards.h wants: multiply, of the lower 32 bits of each factor, and settle and keep, which
// only tell the compiler what belongs into memory and what into registers.
template <class Lanes>
struct Avx2Field {
    using Machine = Lanes;
    using Word = typename Machine::Word;
    static constexpr unsigned kDigits = 10;
    static constexpr unsigned kPackedWords = kDigits / 2;
    static constexpr std::uint64_t kPairMask = (std::uint64_t{1} << 51) - 1;

    static constexpr unsigned bits(unsigned digit) { return digit % 2 == 0 ? 26 : 25; }
    static constexpr std::uint64_t mask(unsigned digit) { return (std::uint64_t{1} << bits(digit)) - 1; }
    static constexpr std::uint64_t modulus(unsigned digit) { return mask(digit) - (digit == 0 ? 18 : 0); }

    struct Element {
        Word digits[kDigits];
    };

    struct Wide {
        Word columns[kDigits];
    };

    static PLUMBOB_INLINE Element constant(const Number& number) {
        const std::uint64_t* w = number.words;
        const std::uint64_t pairs[5] = {w[0] & kPairMask, (w[0] >> 51 | w[1] << 13) & kPairMask,
                                        (w[1] >> 38 | w[2] << 26) & kPairMask, (w[2] >> 25 | w[3] << 39) & kPairMask,
                                        (w[3] >> 12) & kPairMask};
        Element result;
        for (unsigned i = 0; i < kDigits; ++i) {
            result.digits[i] = Machine::spread(i % 2 == 0 ? pairs[i / 2] & mask(0) : pairs[i / 2] >> bits(0));
        }
        return result;
    }

    // The highest bit is left out.
    static Element from_words(const Word* w) {
        const Word pairs[5] = {w[0], w[0] >> 51 | w[1] << 13, w[1] >> 38 | w[2] << 26, w[2] >> 25 | w[3] << 39,
                               w[3] >> 12};
        Element result;
        for (unsigned i = 0; i < 5; ++i) {
            const Word pair = pairs[i] & Machine::spread(kPairMask);
            result.digits[2 * i] = pair & Machine::spread(mask(0));
            result.digits[2 * i + 1] = pair >> bits(0);
        }
        return result;
    }

    static void to_words(const Element& a, Word* w) {
        Word pairs[5];
        for (unsigned i = 0; i < 5; ++i) pairs[i] = a.digits[2 * i] | a.digits[2 * i + 1] << bits(0);
        w[0] = pairs[0] | pairs[1] << 51;
        w[1] = pairs[1] >> 13 | pairs[2] << 38;
        w[2] = pairs[2] >> 26 | pairs[3] << 25;
        w[3] = pairs[3] >> 39 | pairs[4] << 12;
    }

    static PLUMBOB_INLINE void pack(const Element& a, Word* packed) {
        for (unsigned i = 0; i < kPackedWords; ++i) packed[i] = a.digits[2 * i] | a.digits[2 * i + 1] << 32;
    }

    static PLUMBOB_INLINE Element unpack(const Word* packed) {
        Element result;
        for (unsigned i = 0; i < kPackedWords; ++i) {
            result.digits[2 * i] = packed[i] & Machine::spread(0xffffffff);
            result.digits[2 * i + 1] = packed[i] >> 32;
        }
        return result;
    }

    static PLUMBOB_INLINE Element select(const Word& where, const Element& a, const Element& b) {
        Element result;
        for (unsigned i = 0; i < kDigits; ++i) result.digits[i] = Machine::select(where, a.digits[i], b.digits[i]);
        return result;
    }

    static PLUMBOB_INLINE Element sum(const Element& a, const Element& b) {
        Element result;
        for (unsigned i = 0; i < kDigits; ++i) result.digits[i] = a.digits[i] + b.digits[i];
        return result;
    }

    // Twice the modulus is added, so that no digit is negative.
    static PLUMBOB_INLINE Element difference(const Element& a, const Element& b) {
        Element result;
        for (unsigned i = 0; i < kDigits; ++i) {
            result.digits[i] = a.digits[i] + (Machine::spread(2 * modulus(i)) - b.digits[i]);
        }
        return result;
    }

    static PLUMBOB_INLINE Wide widened(const Element& a) {
        Wide result;
        for (unsigned i = 0; i < kDigits; ++i) result.columns[i] = a.digits[i];
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
            result.columns[i] = a.columns[i] + (Machine::spread(modulus(i) << 36) - b.columns[i]);
        }
        return result;
    }

    static PLUMBOB_INLINE Word times_nineteen(const Word& a) { return (a << 4) + ((a << 1) + a); }

    // All carries at once: one digit takes what another had before.
    static PLUMBOB_INLINE Wide carried_once(const Wide& a) {
        Wide result;
        result.columns[0] = (a.columns[0] & Machine::spread(mask(0))) + times_nineteen(a.columns[9] >> bits(9));
#pragma GCC unroll 10
        for (unsigned i = 1; i < kDigits; ++i) {
            result.columns[i] = (a.columns[i] & Machine::spread(mask(i))) + (a.columns[i - 1] >> bits(i - 1));
        }
        return result;
    }

    static PLUMBOB_INLINE Element narrowed(const Wide& a) {
        Element result;
        for (unsigned i = 0; i < kDigits; ++i) result.digits[i] = a.columns[i];
        return result;
    }

    static PLUMBOB_INLINE Element carried(const Wide& a) { return narrowed(carried_once(carried_once(a))); }
    static PLUMBOB_INLINE Element tightened(const Element& a) { return narrowed(carried_once(widened(a))); }

    // Two odd digits make twice a column; what is above the highest column counts 19 times.
    static PLUMBOB_INLINE Wide columns_of(const Element& left, const Element& right) {
        const Word *a = left.digits, *b = right.digits;
        Word folded[kDigits];
        for (unsigned j = 1; j < kDigits; ++j) folded[j] = Machine::multiply(b[j], Machine::spread(19));
        Machine::settle(folded);
        Wide result;
#pragma GCC unroll 10
        for (unsigned i = 0; i < kDigits; ++i) {
            const Word single = a[i];
            const Word twice = single + single;
#pragma GCC unroll 10
            for (unsigned j = 0; j < kDigits; ++j) {
                const Word product = Machine::multiply(i % 2 == 1 && j % 2 == 1 ? twice : single,
                                                       i + j < kDigits ? b[j] : folded[j]);
                Word& column = result.columns[(i + j) % kDigits];
                column = i == 0 ? product : column + product;
            }
            Machine::keep(result.columns);
        }
        return result;
    }

    // Products of different digits count twice as well.
    static PLUMBOB_INLINE Wide columns_of(const Element& value) {
        const Word* a = value.digits;
        Word folded[kDigits];
        for (unsigned j = 5; j < kDigits; ++j) folded[j] = Machine::multiply(a[j], Machine::spread(19));
        Machine::settle(folded);
        Wide result;
        for (unsigned i = 0; i < kDigits; ++i) result.columns[i] = Machine::spread(0);
#pragma GCC unroll 10
        for (unsigned i = 0; i < kDigits; ++i) {
            const Word single = a[i];
            const Word twice = single + single;
            const Word four_times = twice + twice;
#pragma GCC unroll 10
            for (unsigned j = i; j < kDigits; ++j) {
                const unsigned times = (i == j ? 1 : 2) * (i % 2 == 1 && j % 2 == 1 ? 2 : 1);
                const Word product = Machine::multiply(times == 1 ? single : times == 2 ? twice : four_times,
                                                       i + j < kDigits ? a[j] : folded[j]);
                result.columns[(i + j) % kDigits] = result.columns[(i + j) % kDigits] + product;
            }
            Machine::keep(result.columns);
        }
        return result;
    }

    // Functions of their own: inlined side by side, they would not have enough registers.
    static __attribute__((noinline)) Wide product(const Element& a, const Element& b) { return columns_of(a, b); }
    static __attribute__((noinline)) Wide squared(const Element& a) { return columns_of(a); }
    static __attribute__((noinline)) Element multiply(const Element& a, const Element& b) {
        return carried(columns_of(a, b));
    }
    static __attribute__((noinline)) Element square(const Element& a) { return carried(columns_of(a)); }

    // Negative: a^2 + b^2 - (a + b)^2.
    static PLUMBOB_INLINE Wide twice_product(const Element& a, const Element& b, const Wide& squares) {
        return subtract(squares, squared(sum(a, b)));
    }

    static Element canonical(const Element& a) {
        Element result = tightened(tightened(a));
        // Whether the number is 2^255 - 19 or more: whether adding 19 carries out of the highest digit.
        Word over = (result.digits[0] + Machine::spread(19)) >> bits(0);
        for (unsigned i = 1; i < kDigits; ++i) over = (result.digits[i] + over) >> bits(i);
        over = times_nineteen(over);
        for (unsigned i = 0; i < kDigits; ++i) {
            const Word digit = result.digits[i] + over;
            result.digits[i] = digit & Machine::spread(mask(i));
            over = digit >> bits(i);
        }
        return result;
    }
};

}  // namespace
}  // namespace plumbob
