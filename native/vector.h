// Vector cores: `lanes` residues side by side, one digit of each in a register.
//
// Product scanning in tiles of four by four digits: the columns 4C .. 4C+7 of a product stay in eight registers while
// all tiles (I, J) with I + J = C are added, of the factors and, as far as known, of quotient times modulus. Then the
// lowest four columns are finished one after the other, and the upper four move on. They are added to the next block
// last, so that its tiles need not wait for this chain.
//
// `Isa` brings: Vector, lanes, zero, load, store, spread, add, subtract, shift_right, bit_and, and
//   accumulate(columns, c, a, b): columns[c] (and columns[c + 1]) += a * b;    quotient(column, inverse, mask): the low
//   digit of their product.
#pragma once

#include "core.h"

#define PLUMBOB_INLINE inline __attribute__((always_inline))

namespace plumbob {
namespace {

constexpr unsigned kTile = 4;

template <class Isa>
struct VectorCore {
    using Vector = typename Isa::Vector;
    static constexpr unsigned kLanes = Isa::lanes;
    static constexpr unsigned kTileWords = kTile * kLanes;
    using Columns = Vector[2 * kTile];

    static PLUMBOB_INLINE void add_tile(Columns& columns, ConstBlock left, ConstBlock right) {
        Vector a[kTile];
#pragma GCC unroll 4
        for (unsigned i = 0; i < kTile; ++i) a[i] = Isa::load(left + i * kLanes);
#pragma GCC unroll 4
        for (unsigned j = 0; j < kTile; ++j) {
            const Vector b = Isa::load(right + j * kLanes);
#pragma GCC unroll 4
            for (unsigned i = 0; i < kTile; ++i) Isa::accumulate(columns, i + j, a[i], b);
        }
    }

    // The tiles (I, block - I) for I from first to below last.
    static PLUMBOB_INLINE void add_tiles(Columns& columns, ConstBlock left, ConstBlock right, unsigned block,
                                         unsigned first, unsigned last) {
        for (unsigned i = first; i < last; ++i)
            add_tile(columns, left + i * kTileWords, right + (block - i) * kTileWords);
    }

    // A Montgomery reduction of start + the sum that add_products(columns, block, first, last) adds, where first and
    // last bound the tiles of a full product. `out` may overlap the factors: a digit is written when no lower one is
    // read any more.
    template <bool kStarted, class AddProducts>
    static PLUMBOB_INLINE void reduce(const Modulus& modulus, Block out, Block quotient, ConstBlock start,
                                      AddProducts add_products) {
        const unsigned blocks = modulus.digits / kTile;
        const unsigned bits = modulus.digit_bits;
        const Vector mask = Isa::spread((std::uint64_t{1} << bits) - 1);
        const Vector inverse = Isa::spread(modulus.inverse);
        Vector carried[kTile];
#pragma GCC unroll 4
        for (unsigned t = 0; t < kTile; ++t) carried[t] = Isa::zero();
        for (unsigned block = 0; block < 2 * blocks; ++block) {
            const bool is_low = block < blocks;
            const unsigned first = is_low ? 0 : block - blocks + 1;
            const unsigned last = is_low ? block + 1 : blocks;
            Columns columns;
#pragma GCC unroll 8
            for (unsigned t = 0; t < 2 * kTile; ++t) columns[t] = Isa::zero();
            add_products(columns, block, first, last);
            add_tiles(columns, quotient, modulus.root, block, first, is_low ? block : last);
#pragma GCC unroll 4
            for (unsigned t = 0; t < kTile; ++t) {
                columns[t] = Isa::add(columns[t], carried[t]);
                if (kStarted && is_low)
                    columns[t] = Isa::add(columns[t], Isa::load(start + block * kTileWords + t * kLanes));
            }
#pragma GCC unroll 4
            for (unsigned t = 0; t < kTile; ++t) {
                if (is_low) {
                    const Vector digit = Isa::quotient(columns[t], inverse, mask);
                    Isa::store(quotient + block * kTileWords + t * kLanes, digit);
#pragma GCC unroll 4
                    for (unsigned i = 0; i < kTile; ++i)
                        Isa::accumulate(columns, t + i, digit, Isa::load(modulus.root + i * kLanes));
                } else {
                    Isa::store(out + (block - blocks) * kTileWords + t * kLanes, Isa::bit_and(columns[t], mask));
                }
                columns[t + 1] = Isa::add(columns[t + 1], Isa::shift_right(columns[t], bits));
            }
#pragma GCC unroll 4
            for (unsigned t = 0; t < kTile; ++t) carried[t] = columns[kTile + t];
        }
    }

    // The products of a square: those off the diagonal once, doubled.
    static PLUMBOB_INLINE void add_square(Columns& columns, ConstBlock value, unsigned block, unsigned first) {
        add_tiles(columns, value, value, block, first, (block + 1) / 2);
#pragma GCC unroll 8
        for (unsigned t = 0; t < 2 * kTile; ++t) columns[t] = Isa::add(columns[t], columns[t]);
        if (block % 2 == 0) add_tile(columns, value + block / 2 * kTileWords, value + block / 2 * kTileWords);
    }

    static void start_upper(const Modulus& modulus, Block start, ConstBlock quotient) {
        const Vector mask = Isa::spread((std::uint64_t{1} << modulus.digit_bits) - 1);
        for (unsigned word = 0; word < modulus.digits * kLanes; word += kLanes) {
            const Vector complement = Isa::subtract(mask, Isa::load(quotient + word));
            Isa::store(start + word, Isa::add(complement, Isa::load(modulus.shift + word)));
        }
    }

    static void copy(Block out, ConstBlock from, unsigned words) {
        for (unsigned word = 0; word < words; word += kLanes) Isa::store(out + word, Isa::load(from + word));
    }

    static void multiply(const Modulus& modulus, Block out, ConstBlock left, ConstBlock right) {
        alignas(64) std::uint64_t quotient[kMaxDigits * kLanes], lower[kMaxDigits * kLanes], start[kMaxDigits * kLanes];
        const unsigned half = modulus.digits * kLanes;
        reduce<false>(modulus, lower, quotient, nullptr,
                      [=](Columns& columns, unsigned block, unsigned first, unsigned last)
                          __attribute__((always_inline)) { add_tiles(columns, left, right, block, first, last); });
        if (modulus.degree == 2) {
            start_upper(modulus, start, quotient);
            reduce<true>(modulus, out + half, quotient, start,
                         [=](Columns& columns, unsigned block, unsigned first, unsigned last)
                             __attribute__((always_inline)) {
                                 add_tiles(columns, left, right + half, block, first, last);
                                 add_tiles(columns, left + half, right, block, first, last);
                             });
        }
        copy(out, lower, half);
    }

    static void square(const Modulus& modulus, Block out, ConstBlock value) {
        alignas(64) std::uint64_t quotient[kMaxDigits * kLanes], lower[kMaxDigits * kLanes], start[kMaxDigits * kLanes];
        alignas(64) std::uint64_t doubled[kMaxDigits * kLanes];
        const unsigned half = modulus.digits * kLanes;
        reduce<false>(modulus, lower, quotient, nullptr,
                      [=](Columns& columns, unsigned block, unsigned first, unsigned)
                          __attribute__((always_inline)) { add_square(columns, value, block, first); });
        if (modulus.degree == 2) {
            start_upper(modulus, start, quotient);
            double_number(modulus, doubled, value + half);
            ConstBlock twice = doubled;
            reduce<true>(modulus, out + half, quotient, start,
                         [=](Columns& columns, unsigned block, unsigned first, unsigned last)
                             __attribute__((always_inline)) { add_tiles(columns, value, twice, block, first, last); });
        }
        copy(out, lower, half);
    }

    static void double_number(const Modulus& modulus, Block out, ConstBlock value) {
        const Vector mask = Isa::spread((std::uint64_t{1} << modulus.digit_bits) - 1);
        Vector carried = Isa::zero();
        for (unsigned word = 0; word < modulus.digits * kLanes; word += kLanes) {
            const Vector digit = Isa::load(value + word);
            const Vector sum = Isa::add(Isa::add(digit, digit), carried);
            Isa::store(out + word, Isa::bit_and(sum, mask));
            carried = Isa::shift_right(sum, modulus.digit_bits);
        }
    }

    static constexpr Core make() {
        return {kLanes,
                Isa::digit_bits,
                kTile,
                Isa::stored_bytes,
                Isa::sums_whole_products,
                multiply,
                square,
                Isa::load_elements,
                Isa::store_elements,
                select_entry<kTileWords>,
                nullptr};
    }
};

}  // namespace
}  // namespace plumbob
