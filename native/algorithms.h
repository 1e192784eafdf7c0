// The operations of an engine (engines/interface.py) on arrays of standard residues, `width` limbs each, rows without
// gaps. Callers have checked the shapes. Which products are done depends on shapes and widths only; nothing is skipped
// for being zero or one.
#pragma once

#include "ring.h"

namespace plumbob {

// Row by row; with `right_rows` 1, the same right factor for all.
void multiply(const Ring& ring, std::uint64_t* out, const std::uint64_t* left, std::size_t rows,
              const std::uint64_t* right, std::size_t right_rows, unsigned threads);

// The exponent is secret but for its length `bits`, at most 64 times its limbs.
void power(const Ring& ring, std::uint64_t* out, const std::uint64_t* bases, std::size_t rows,
           const std::uint64_t* exponent, std::size_t bits, unsigned threads);

// columns + 1 results: column j is the product over i of bases[i]^(matrix[i, j] + 2^(bits-1)), the last that of
// bases[i]^(2^(bits-1)).
void combine(const Ring& ring, std::uint64_t* out, const std::uint64_t* bases, std::size_t rows,
             const std::int64_t* matrix, std::size_t columns, unsigned bits, unsigned threads);

// ceil(rows / slots) results: the product of values[k]^(2^(k * slot_bits)) over `slots` rows each.
void pack(const Ring& ring, std::uint64_t* out, const std::uint64_t* values, std::size_t rows, std::size_t slots,
          std::size_t slot_bits, unsigned threads);

// Powers bases[j]^v for v < 2^window.
class Table {
public:
    Table(std::shared_ptr<const Ring> ring, const std::uint64_t* bases, std::size_t count, unsigned window,
          unsigned threads);
    Table(const Table&) = delete;

    const Ring& ring() const { return *ring_; }
    std::size_t bases() const { return bases_; }
    unsigned window() const { return window_; }

    // Row r of the result: the product over j of bases[j]^digits[r, j]; digits are below 2^window.
    void look_up(std::uint64_t* out, const std::uint8_t* digits, std::size_t rows, unsigned threads) const;

private:
    const char* power(std::size_t base, unsigned exponent) const { return powers_[(base << window_) + exponent]; }

    std::shared_ptr<const Ring> ring_;
    const Domain& domain_;
    std::size_t bases_;
    unsigned window_;
    Residues powers_;
};

// Chinese remainders: right + second * ((left - right) * inverse mod first), with `inverse` that of `second` modulo
// `first`, second < first. `second` has `second_width` limbs, as have the rows of `right`; the result has `out_width`.
void join(const Ring& first, std::uint64_t* out, std::size_t out_width, const std::uint64_t* left,
          const std::uint64_t* right, std::size_t rows, const std::uint64_t* second, std::size_t second_width,
          const std::uint64_t* inverse, unsigned threads);

}  // namespace plumbob
