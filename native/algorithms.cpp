// The algorithms of the Python engine (engines/python.py), block by block: see there for the plain statement of each.
#include "algorithms.h"

#include <utility>

#include "workers.h"

namespace plumbob {
namespace {

// Subset tables that are used together stay below this, so that they remain in a cache. Measured: 2 to 32 MB make no
// difference.
constexpr std::size_t kTableBytes = 4 << 20;
constexpr unsigned kMaxGroup = 12;

std::size_t ceil_divide(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

std::size_t blocks_of(const Domain& domain, std::size_t items) { return ceil_divide(items, domain.core().lanes); }

// Standard residues in rows to a block in Montgomery form, and back.
void enter(Worker& worker, const Ring& ring, const Domain& domain, Block out, const std::uint64_t* rows,
           std::size_t first, std::size_t end) {
    const std::size_t count = std::min<std::size_t>(end - first, domain.core().lanes);
    for (unsigned lane = 0; lane < count; ++lane) ring.receive(domain, out, lane, rows + (first + lane) * ring.width());
    worker.multiply(out, out, domain.entry());
}

// The block holds plain values already.
void deliver(const Ring& ring, const Domain& domain, std::uint64_t* rows, std::size_t first, std::size_t end,
             ConstBlock block) {
    const std::size_t count = std::min<std::size_t>(end - first, domain.core().lanes);
    for (unsigned lane = 0; lane < count; ++lane)
        ring.deliver(domain, rows + (first + lane) * ring.width(), block, lane);
}

void leave(Worker& worker, const Ring& ring, const Domain& domain, std::uint64_t* rows, std::size_t first,
           std::size_t end, Block block) {
    worker.multiply(block, block, domain.exit());
    deliver(ring, domain, rows, first, end, block);
}

Residues enter_all(const Ring& ring, const Domain& domain, const std::uint64_t* rows, std::size_t count,
                   unsigned threads) {
    Residues residues(count, domain.element_bytes());
    const unsigned lanes = domain.core().lanes;
    share(domain, threads, blocks_of(domain, count), 1, [&](Worker& worker, std::size_t begin, std::size_t end) {
        Words block = worker.block();
        for (std::size_t first = begin * lanes; first < std::min(end * lanes, count); first += lanes) {
            enter(worker, ring, domain, block.data(), rows, first, count);
            worker.store(block.data(), first, count, [&](std::size_t i) { return residues[i]; });
        }
    });
    return residues;
}

std::size_t subset_blocks(const Domain& domain, unsigned size) {
    std::size_t blocks = 0;
    for (unsigned k = 0; k < size; ++k) blocks += blocks_of(domain, std::size_t{1} << k);
    return blocks;
}

// Rows per subset table that make the number of products smallest.
unsigned group_size(const Domain& domain, std::size_t rows, std::size_t items) {
    unsigned best = 1;
    std::size_t best_cost = ~std::size_t{0};
    for (unsigned size = 1; size <= kMaxGroup; ++size) {
        const std::size_t cost = ceil_divide(rows, size) * (subset_blocks(domain, size) + blocks_of(domain, items));
        if (cost < best_cost) best = size, best_cost = cost;
    }
    return best;
}

// table[first + v] = the product of the bases whose bit is set in v, for the bases [begin, end).
void fill_subsets(Worker& worker, const Domain& domain, Residues& table, std::size_t first, const Residues& bases,
                  std::size_t begin, std::size_t end) {
    const unsigned lanes = domain.core().lanes;
    Words product = worker.block(), base = worker.block();
    std::memcpy(table[first], domain.stored_one(), domain.element_bytes());
    for (std::size_t count = 1; begin < end; ++begin, count *= 2) {
        worker.load(base.data(), 0, lanes, [&](std::size_t) { return bases[begin]; });
        for (std::size_t v = 0; v < count; v += lanes) {
            worker.load(product.data(), v, count, [&](std::size_t i) { return table[first + i]; });
            worker.multiply(product.data(), product.data(), base.data());
            worker.store(product.data(), v, count, [&](std::size_t i) { return table[first + count + i]; });
        }
    }
}

// Which subset of the rows [begin, end) has the bit set, for every plane and column, and at last the full subset.
void fill_indices(std::uint16_t* indices, const std::int64_t* matrix, std::size_t columns, unsigned bits,
                  std::size_t begin, std::size_t end) {
    std::fill_n(indices, columns * bits, 0);
    const std::uint64_t offset = std::uint64_t{1} << (bits - 1);
    for (std::size_t row = begin; row < end; ++row) {
        const auto* entries = reinterpret_cast<const std::uint64_t*>(matrix) + row * columns;
        for (unsigned plane = 0; plane < bits; ++plane) {
            std::uint16_t* plane_indices = indices + plane * columns;
            for (std::size_t column = 0; column < columns; ++column) {
                const std::uint64_t bit = (entries[column] + offset) >> plane & 1;
                plane_indices[column] = static_cast<std::uint16_t>(plane_indices[column] | bit << (row - begin));
            }
        }
    }
    indices[columns * bits] = static_cast<std::uint16_t>((1u << (end - begin)) - 1);
}

void prefetch(const char* element, std::size_t bytes) {
    for (std::size_t offset = 0; offset < bytes; offset += 64) __builtin_prefetch(element + offset);
}

// The products of a block of items with their entries in the tables of several groups; `indices` has a row of `items`
// per group.
struct Lookup {
    const Domain& domain;
    const Residues& tables;
    unsigned size;
    std::size_t groups;
    const std::vector<std::uint16_t>& indices;
    std::size_t items;

    const char* entry(std::size_t group, std::size_t item) const {
        return tables[(group << size) + indices[group * items + item]];
    }

    void run(Worker& worker, Block sum, Block factor, std::size_t first, bool is_start) const {
        for (std::size_t group = 0; group < groups; ++group) {
            if (group + 1 < groups) {
                for (std::size_t item = first; item < std::min<std::size_t>(first + domain.core().lanes, items);
                     ++item) {
                    prefetch(entry(group + 1, item), domain.element_bytes());
                }
            }
            auto element = [&](std::size_t item) { return entry(group, item); };
            if (is_start && group == 0) {
                worker.load(sum, first, items, element);
            } else {
                worker.load(factor, first, items, element);
                worker.multiply(sum, sum, factor);
            }
        }
    }
};

// 2^window products for the table, then for each window one more and a selection, which takes as long as a product per
// fifty entries.
std::size_t window_cost(std::size_t bits, unsigned window) {
    const std::size_t entries = std::size_t{1} << window;
    return entries + ceil_divide(bits, window) * (50 + entries) / 50;
}

unsigned best_window(std::size_t bits) {
    unsigned best = 1;
    for (unsigned window = 2; window <= kMaxWindow; ++window) {
        if (window_cost(bits, window) < window_cost(bits, best)) best = window;
    }
    return best;
}

unsigned exponent_window(const std::uint64_t* exponent, std::size_t limbs, std::size_t position, unsigned window) {
    std::uint64_t digit = exponent[position / 64] >> position % 64;
    if (position % 64 != 0 && position / 64 + 1 < limbs) digit |= exponent[position / 64 + 1] << (64 - position % 64);
    return static_cast<unsigned>(digit) & ((1u << window) - 1);
}

}  // namespace

void multiply(const Ring& ring, std::uint64_t* out, const std::uint64_t* left, std::size_t rows,
              const std::uint64_t* right, std::size_t right_rows, unsigned threads) {
    const Domain& domain = ring.domain_for(rows);
    const unsigned lanes = domain.core().lanes;
    share(domain, threads, blocks_of(domain, rows), 3, [&](Worker& worker, std::size_t begin, std::size_t end) {
        Words a = worker.block(), b = worker.block();
        for (std::size_t first = begin * lanes; first < std::min(end * lanes, rows); first += lanes) {
            for (unsigned lane = 0; lane < lanes && first + lane < rows; ++lane) {
                ring.receive(domain, a.data(), lane, left + (first + lane) * ring.width());
                ring.receive(domain, b.data(), lane, right_rows == 1 ? right : right + (first + lane) * ring.width());
            }
            worker.multiply(a.data(), a.data(), b.data());
            worker.multiply(a.data(), a.data(), domain.pair_exit());
            deliver(ring, domain, out, first, rows, a.data());
        }
    });
}

void power(const Ring& ring, std::uint64_t* out, const std::uint64_t* bases, std::size_t rows,
           const std::uint64_t* exponent, std::size_t bits, unsigned threads) {
    const Domain& domain = ring.domain_for(rows);
    const unsigned lanes = domain.core().lanes, window = best_window(bits);
    const std::size_t words = domain.block_words(), limbs = ceil_divide(bits, 64);
    share(domain, threads, blocks_of(domain, rows), bits + 3, [&](Worker& worker, std::size_t begin, std::size_t end) {
        Words powers(words << window), result = worker.block(), factor = worker.block();
        for (std::size_t first = begin * lanes; first < std::min(end * lanes, rows); first += lanes) {
            std::copy_n(domain.one(), words, powers.data());
            enter(worker, ring, domain, powers.data() + words, bases, first, rows);
            for (std::size_t v = 2; v < std::size_t{1} << window; ++v) {
                worker.multiply(powers.data() + v * words, powers.data() + (v - 1) * words, powers.data() + words);
            }
            std::copy_n(domain.one(), words, result.data());
            for (std::size_t position = ceil_divide(bits, window) * window; position > 0;) {
                position -= window;
                const unsigned digit = exponent_window(exponent, limbs, position, window);
                for (unsigned i = 0; i < window; ++i) worker.square(result.data(), result.data());
                domain.core().select(factor.data(), powers.data(), 1u << window, words, digit);
                worker.multiply(result.data(), result.data(), factor.data());
            }
            leave(worker, ring, domain, out, first, rows, result.data());
        }
    });
}

void combine(const Ring& ring, std::uint64_t* out, const std::uint64_t* bases, std::size_t rows,
             const std::int64_t* matrix, std::size_t columns, unsigned bits, unsigned threads) {
    const std::size_t items = columns * bits + 1;
    const Domain& domain = ring.domain_for(items);
    const unsigned lanes = domain.core().lanes, size = group_size(domain, rows, items);
    const std::size_t groups = ceil_divide(rows, size);
    const std::size_t chunk =
        std::clamp<std::size_t>(kTableBytes / (domain.element_bytes() << size), 1, std::max<std::size_t>(groups, 1));

    const Residues entered = enter_all(ring, domain, bases, rows, threads);
    Residues tables(chunk << size, domain.element_bytes()), sums(items, domain.element_bytes());
    std::vector<std::uint16_t> indices(chunk * items);
    for (std::size_t start = 0; start < groups; start += chunk) {
        const std::size_t here = std::min(chunk, groups - start);
        share(domain, threads, here, subset_blocks(domain, size),
              [&](Worker& worker, std::size_t begin, std::size_t end) {
                  for (std::size_t group = begin; group < end; ++group) {
                      const std::size_t first_row = (start + group) * size,
                                        last_row = std::min<std::size_t>(first_row + size, rows);
                      fill_subsets(worker, domain, tables, group << size, entered, first_row, last_row);
                      fill_indices(indices.data() + group * items, matrix, columns, bits, first_row, last_row);
                  }
              });
        const Lookup lookup{domain, tables, size, here, indices, items};
        share(domain, threads, blocks_of(domain, items), here, [&](Worker& worker, std::size_t begin, std::size_t end) {
            Words sum = worker.block(), factor = worker.block();
            auto place = [&](std::size_t item) { return sums[item]; };
            for (std::size_t first = begin * lanes; first < std::min(end * lanes, items); first += lanes) {
                if (start > 0) worker.load(sum.data(), first, items, place);
                lookup.run(worker, sum.data(), factor.data(), first, start == 0);
                worker.store(sum.data(), first, items, place);
            }
        });
    }

    // Square and multiply over the planes. The last result has only a top plane.
    share(domain, threads, blocks_of(domain, columns + 1), 2 * bits,
          [&](Worker& worker, std::size_t begin, std::size_t end) {
              Words result = worker.block(), factor = worker.block();
              for (std::size_t first = begin * lanes; first < std::min(end * lanes, columns + 1); first += lanes) {
                  for (unsigned plane = bits; plane-- > 0;) {
                      auto digit = [&](std::size_t column) -> const char* {
                          if (column < columns) return std::as_const(sums)[plane * columns + column];
                          return plane + 1 == bits ? std::as_const(sums)[items - 1] : domain.stored_one();
                      };
                      if (plane + 1 == bits) {
                          worker.load(result.data(), first, columns + 1, digit);
                      } else {
                          worker.square(result.data(), result.data());
                          worker.load(factor.data(), first, columns + 1, digit);
                          worker.multiply(result.data(), result.data(), factor.data());
                      }
                  }
                  leave(worker, ring, domain, out, first, columns + 1, result.data());
              }
          });
}

void pack(const Ring& ring, std::uint64_t* out, const std::uint64_t* values, std::size_t rows, std::size_t slots,
          std::size_t slot_bits, unsigned threads) {
    const std::size_t outputs = ceil_divide(rows, slots);
    const Domain& domain = ring.domain_for(outputs);
    const unsigned lanes = domain.core().lanes;
    const Residues entered = enter_all(ring, domain, values, rows, threads);
    share(domain, threads, blocks_of(domain, outputs), slots * (slot_bits + 1),
          [&](Worker& worker, std::size_t begin, std::size_t end) {
              Words result = worker.block(), factor = worker.block();
              for (std::size_t first = begin * lanes; first < std::min(end * lanes, outputs); first += lanes) {
                  for (std::size_t slot = slots; slot-- > 0;) {
                      // The last result may lack its upper slots: ones take their place.
                      auto value = [&](std::size_t output) -> const char* {
                          const std::size_t row = output * slots + slot;
                          return row < rows ? entered[row] : domain.stored_one();
                      };
                      if (slot + 1 == slots) {
                          worker.load(result.data(), first, outputs, value);
                      } else {
                          for (std::size_t i = 0; i < slot_bits; ++i) worker.square(result.data(), result.data());
                          worker.load(factor.data(), first, outputs, value);
                          worker.multiply(result.data(), result.data(), factor.data());
                      }
                  }
                  leave(worker, ring, domain, out, first, outputs, result.data());
              }
          });
}

Table::Table(std::shared_ptr<const Ring> ring, const std::uint64_t* bases, std::size_t count, unsigned window,
             unsigned threads)
    : ring_(std::move(ring)),
      domain_(ring_->domain_for(count)),
      bases_(count),
      window_(window),
      powers_(count << window, domain_.element_bytes()) {
    const unsigned lanes = domain_.core().lanes;
    share(domain_, threads, blocks_of(domain_, count), std::size_t{1} << window,
          [&](Worker& worker, std::size_t begin, std::size_t end) {
              Words base = worker.block(), result = worker.block();
              for (std::size_t first = begin * lanes; first < std::min(end * lanes, count); first += lanes) {
                  enter(worker, *ring_, domain_, base.data(), bases, first, count);
                  std::copy_n(domain_.one(), domain_.block_words(), result.data());
                  for (std::size_t v = 0; v < std::size_t{1} << window_; ++v) {
                      if (v > 0) worker.multiply(result.data(), result.data(), base.data());
                      worker.store(result.data(), first, count,
                                   [&](std::size_t j) { return powers_[(j << window_) + v]; });
                  }
              }
          });
}

void Table::look_up(std::uint64_t* out, const std::uint8_t* digits, std::size_t rows, unsigned threads) const {
    // Few rows would leave lanes idle, so a row's factors are cut into parts, multiplied side by side and then
    // together.
    const unsigned lanes = domain_.core().lanes;
    std::size_t parts = 1, best_cost = ~std::size_t{0};
    for (std::size_t candidate = 1; candidate <= std::min<std::size_t>(bases_, 4 * lanes); ++candidate) {
        const std::size_t shared_blocks = ceil_divide(blocks_of(domain_, rows * candidate), threads);
        const std::size_t cost =
            shared_blocks * ceil_divide(bases_, candidate) + blocks_of(domain_, rows) * (candidate - 1);
        if (cost < best_cost) parts = candidate, best_cost = cost;
    }
    const std::size_t length = ceil_divide(bases_, parts), items = rows * parts;
    Residues partial(items, domain_.element_bytes());
    share(domain_, threads, blocks_of(domain_, items), length, [&](Worker& worker, std::size_t begin, std::size_t end) {
        Words result = worker.block(), factor = worker.block();
        for (std::size_t first = begin * lanes; first < std::min(end * lanes, items); first += lanes) {
            for (std::size_t step = 0; step < length; ++step) {
                auto chosen = [&](std::size_t item, std::size_t at) -> const char* {
                    const std::size_t row = item / parts, base = item % parts * length + at;
                    return base < bases_ ? power(base, digits[row * bases_ + base]) : domain_.stored_one();
                };
                if (step + 1 < length) {
                    for (std::size_t item = first; item < std::min<std::size_t>(first + lanes, items); ++item) {
                        prefetch(chosen(item, step + 1), domain_.element_bytes());
                    }
                }
                auto element = [&](std::size_t item) { return chosen(item, step); };
                if (step == 0) {
                    worker.load(result.data(), first, items, element);
                } else {
                    worker.load(factor.data(), first, items, element);
                    worker.multiply(result.data(), result.data(), factor.data());
                }
            }
            worker.store(result.data(), first, items, [&](std::size_t item) { return partial[item]; });
        }
    });
    share(domain_, threads, blocks_of(domain_, rows), parts, [&](Worker& worker, std::size_t begin, std::size_t end) {
        Words result = worker.block(), factor = worker.block();
        for (std::size_t first = begin * lanes; first < std::min(end * lanes, rows); first += lanes) {
            worker.load(result.data(), first, rows, [&](std::size_t row) { return partial[row * parts]; });
            for (std::size_t part = 1; part < parts; ++part) {
                worker.load(factor.data(), first, rows, [&](std::size_t row) { return partial[row * parts + part]; });
                worker.multiply(result.data(), result.data(), factor.data());
            }
            leave(worker, *ring_, domain_, out, first, rows, result.data());
        }
    });
}

void join(const Ring& first, std::uint64_t* out, std::size_t out_width, const std::uint64_t* left,
          const std::uint64_t* right, std::size_t rows, const std::uint64_t* second, std::size_t second_width,
          const std::uint64_t* inverse, unsigned threads) {
    const std::size_t width = first.width();
    std::vector<std::uint64_t> difference(rows * width);
    for (std::size_t row = 0; row < rows; ++row) {
        // left - right modulo `first`: adding the modulus where the difference is negative.
        std::uint64_t* result = difference.data() + row * width;
        std::uint64_t borrowed = 0;
        for (std::size_t i = 0; i < width; ++i) {
            const std::uint64_t limb = i < second_width ? right[row * second_width + i] : 0;
            const unsigned __int128 digit = static_cast<unsigned __int128>(left[row * width + i]) - limb - borrowed;
            result[i] = static_cast<std::uint64_t>(digit);
            borrowed = static_cast<std::uint64_t>(digit >> 64) & 1;
        }
        const std::uint64_t mask = 0 - borrowed;
        std::uint64_t carried = 0;
        for (std::size_t i = 0; i < width; ++i) {
            const unsigned __int128 digit =
                static_cast<unsigned __int128>(result[i]) + (first.modulus()[i] & mask) + carried;
            result[i] = static_cast<std::uint64_t>(digit);
            carried = static_cast<std::uint64_t>(digit >> 64);
        }
    }
    multiply(first, difference.data(), difference.data(), rows, inverse, 1, threads);
    std::fill_n(out, rows * out_width, 0);
    for (std::size_t row = 0; row < rows; ++row) {
        std::uint64_t* result = out + row * out_width;
        std::copy_n(right + row * second_width, std::min(second_width, out_width), result);
        add_product(result, out_width, difference.data() + row * width, width, second, second_width);
    }
}

}  // namespace plumbob
