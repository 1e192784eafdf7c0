// Five digits of 51 bits, each in a word: what a field modulo 2^255 - 19 of this form has, whatever its products are.
#pragma once

#include "edwards.h"

namespace plumbob {
namespace {

// `Lanes` brings what edwards.h wants.
template <class Lanes>
struct FiveDigits {
    using Machine = Lanes;
    using Word = typename Machine::Word;
    static constexpr unsigned kDigits = 5;
    static constexpr unsigned kPackedWords = kDigits;
    static constexpr unsigned kBits = 51;
    static constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;

    struct Element {
        Word digits[kDigits];
    };

    static PLUMBOB_INLINE Element constant(const Number& number) {
        const std::uint64_t* w = number.words;
        return {{Machine::spread(w[0] & kMask), Machine::spread((w[0] >> 51 | w[1] << 13) & kMask),
                 Machine::spread((w[1] >> 38 | w[2] << 26) & kMask), Machine::spread((w[2] >> 25 | w[3] << 39) & kMask),
                 Machine::spread((w[3] >> 12) & kMask)}};
    }

    // The highest bit is left out.
    static Element from_words(const Word* w) {
        const Word mask = Machine::spread(kMask);
        return {{w[0] & mask, (w[0] >> 51 | w[1] << 13) & mask, (w[1] >> 38 | w[2] << 26) & mask,
                 (w[2] >> 25 | w[3] << 39) & mask, (w[3] >> 12) & mask}};
    }

    static void to_words(const Element& a, Word* w) {
        const Word* d = a.digits;
        w[0] = d[0] | d[1] << 51;
        w[1] = d[1] >> 13 | d[2] << 38;
        w[2] = d[2] >> 26 | d[3] << 25;
        w[3] = d[3] >> 39 | d[4] << 12;
    }

    static PLUMBOB_INLINE void pack(const Element& a, Word* packed) {
        for (unsigned i = 0; i < kDigits; ++i) packed[i] = a.digits[i];
    }

    static PLUMBOB_INLINE Element unpack(const Word* packed) {
        return {{packed[0], packed[1], packed[2], packed[3], packed[4]}};
    }

    static PLUMBOB_INLINE Element select(const Word& mask, const Element& a, const Element& b) {
        Element result;
        for (unsigned i = 0; i < kDigits; ++i) result.digits[i] = Machine::select(mask, a.digits[i], b.digits[i]);
        return result;
    }

    static PLUMBOB_INLINE Word times_nineteen(const Word& a) { return (a << 4) + (a << 1) + a; }

    // The one form below the modulus, from digits of hardly more than 51 bits.
    static Element reduced(Element result) {
        const Word mask = Machine::spread(kMask);
        // Whether the number is 2^255 - 19 or more: whether adding 19 carries out of the highest digit.
        Word over = (result.digits[0] + Machine::spread(19)) >> kBits;
        for (unsigned i = 1; i < kDigits; ++i) over = (result.digits[i] + over) >> kBits;
        over = times_nineteen(over);
        for (unsigned i = 0; i < kDigits; ++i) {
            const Word digit = result.digits[i] + over;
            result.digits[i] = digit & mask;
            over = digit >> kBits;
        }
        return result;
    }
};

}  // namespace
}  // namespace plumbob
