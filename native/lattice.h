// Polynomials modulo x^degree + 1 and several primes: what the lattice products consist of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lattice_core.h"

namespace plumbob {

using Words64 = std::vector<std::uint64_t>;

// Little-endian numbers of up to 128 bits, two words each.
struct StreamKey {
    std::uint32_t words[8];
};

class Lattice {
public:
    // Roots are of x^degree + 1, modulo each prime; slot primes may be missing.
    Lattice(const LatticeCore& core, std::size_t degree, const Words64& primes, const Words64& roots,
            const Words64& slot_primes, const Words64& slot_roots);
    Lattice(const Lattice&) = delete;

    std::size_t degree() const { return degree_; }
    std::size_t primes() const { return primes_.size(); }
    bool has_slots() const { return !slot_primes_.empty(); }
    const LatticePrime& prime(std::size_t part) const { return primes_[part]; }
    std::size_t packed_bytes() const { return degree_ * kPrimeBits / 8; }  // of a polynomial modulo one prime
    std::size_t words() const { return degree_ * primes_.size(); }         // of a polynomial modulo all of them

    // One polynomial each, transformed; `out` has words() words.
    void uniform(const StreamKey& key, std::uint64_t index, std::uint64_t* out) const;
    void ternary(const StreamKey& key, std::uint64_t index, std::uint64_t* out) const;
    void errors(const StreamKey& key, std::uint64_t index, std::uint64_t* out) const;
    void transform(const std::int32_t* coefficients, std::uint64_t* out) const;
    void transform_all(const std::int32_t* coefficients, std::size_t count, std::uint64_t* out, unsigned threads) const;
    void forward(std::uint64_t* values) const;
    bool is_reduced(const std::uint64_t* values) const;
    // out = first + second * third.
    void combine(const std::uint64_t* first, const std::uint64_t* second, const std::uint64_t* third,
                 std::uint64_t* out) const;
    void pack(const std::uint64_t* values, std::uint8_t* out) const;
    // False if a residue is not below its prime.
    bool unpack(const std::uint8_t* packed, std::uint64_t* out) const;
    // Coefficients in [0, q) without their lowest bits, 40 bytes each.
    void high_bits(const std::uint64_t* value, unsigned dropped, std::uint8_t* out) const;

    // `first` is the place of the first polynomial, or block, in the streams: a part is made as it would be in the whole.
    struct RequestKeys {
        const std::uint64_t* secret;
        StreamKey uniform, errors;
        std::uint64_t first;
    };

    void encrypt(const RequestKeys& keys, std::size_t count, const std::uint64_t* messages, unsigned bits,
                 std::uint8_t* out, unsigned threads) const;
    // Values in slots are small numbers, or numbers below t, two words each.
    template <class Value>
    void encrypt_slots(const RequestKeys& keys, std::size_t count, const Value* values, std::uint8_t* out,
                       unsigned threads) const;

    struct ReplyKeys {
        StreamKey uniform;
        const std::uint64_t* b;
        StreamKey a, secret, errors;
        std::uint64_t first;
    };

    // Which coefficients of each reply are answers; the others need no share.
    using Places = std::vector<std::uint32_t>;

    // For each reply, the sums of c0 Z and of a Z over some of a request's polynomials, from the place `first` on.
    bool add_up(const StreamKey& uniform_key, std::uint64_t first, const std::uint8_t* packed, std::size_t requests,
                const std::uint64_t* matrix, std::size_t replies, std::uint64_t* sums, unsigned threads) const;
    // `sums` are added to those of the request; null stands for none.
    bool reply(const ReplyKeys& keys, const std::uint8_t* packed, std::size_t requests, const std::uint64_t* matrix,
               std::size_t replies, const std::uint64_t* sums, unsigned reply_bits, unsigned share_bits,
               const Places& answers, std::uint8_t* sent, std::uint64_t* shares, unsigned threads) const;
    template <class Value>
    bool reply_slots(const ReplyKeys& keys, const std::uint8_t* packed, std::size_t blocks, std::size_t terms,
                     const Value* values, std::uint8_t* sent, std::uint64_t* shares, unsigned threads) const;
    // A request and the values hold, for each block, `turns` real parts and then as many imaginary ones. For each of them
    // one reply: the real parts of the complex products first, then the imaginary ones.
    template <class Value>
    bool reply_turns(const ReplyKeys& keys, const std::uint8_t* packed, std::size_t blocks, std::size_t turns,
                     const Value* values, std::uint8_t* sent, std::uint64_t* shares, unsigned threads) const;
    void open(const std::uint64_t* secret, const std::uint8_t* packed, std::size_t replies, unsigned reply_bits,
              unsigned share_bits, const Places& answers, std::uint64_t* shares, unsigned threads) const;
    bool open_slots(const std::uint64_t* secret, const std::uint8_t* packed, std::size_t count, std::uint64_t* shares,
                    unsigned threads) const;

private:
    struct Tables {
        Words64 forward, forward_quotients, inverse, inverse_quotients, forward_tail, inverse_tail;
    };

    class UniformPieces;

    LatticePrime make_prime(std::uint64_t value, std::uint64_t root);
    void fill_slot_tables();
    void uniform_part(const StreamKey& key, std::uint64_t index, std::size_t part, std::uint64_t* out) const;
    void inverse(std::size_t part, std::uint64_t* values) const;
    void inverse_for_fractions(std::uint64_t* values) const;
    std::size_t piece_size() const;
    static LatticePrime cut_to(const LatticePrime& prime, std::size_t size);
    void small_errors(const StreamKey& key, std::uint64_t index, std::int8_t* out) const;
    void small_ternary(const StreamKey& key, std::uint64_t index, std::int8_t* out) const;
    void transform_small(const std::int8_t* values, std::size_t part, std::uint64_t* out) const;
    void finish_encryption(const RequestKeys& keys, std::size_t index, std::size_t part, std::uint64_t* data,
                           std::uint8_t* out) const;
    class ReadRequest;
    void multiply_terms(const StreamKey& uniform_key, std::uint64_t first, const std::uint8_t* packed, std::size_t count,
                        std::size_t part, const std::uint64_t* weights, std::uint64_t* sum, std::uint64_t* opposite,
                        std::uint64_t* room, std::atomic<std::uint64_t>& refused) const;
    const std::int32_t* slots_at(const std::int32_t* values, std::size_t index) const { return values + index * degree_; }
    const std::uint64_t* slots_at(const std::uint64_t* values, std::size_t index) const { return values + 2 * index * degree_; }
    void slot_residues(const std::int32_t* values, std::size_t j, std::uint64_t* out) const;
    void slot_residues(const std::uint64_t* values, std::size_t j, std::uint64_t* out) const;
    template <class Value>
    void slot_weights(const Value* values, const std::vector<Factor>& scales, std::uint64_t* out) const;
    template <class Value>
    void plain_weights(const Value* values, std::uint64_t* out) const;
    void fraction_of(const std::uint64_t* coefficients, std::size_t place, std::uint64_t out[4]) const;
    void slot_shares(std::uint64_t* coefficients, std::uint64_t* shares) const;

    const LatticeCore& core_;
    std::size_t degree_;
    std::vector<std::unique_ptr<Tables>> tables_;
    std::vector<LatticePrime> primes_, slot_primes_;
    std::vector<Factor> fraction_scales_;         // (q / p_i)^-1 modulo p_i, divided by the degree
    std::vector<Words64> reciprocals_;            // floor(2^256 / p_i)
    std::vector<std::vector<Factor>> mixed_;      // p_j^-1 modulo p_i, for j < i
    std::uint64_t modulus_low_[2];                // q modulo 2^128
    std::vector<Factor> slot_inverses_;           // (t / t_j)^-1 modulo t_j
    std::vector<Factor> plain_scales_;            // the same, divided by the degree
    std::vector<Factor> slot_scales_;             // q (t / t_j)^-1 modulo t_j, divided by the degree
    std::vector<Words64> slot_rests_;             // t / t_j modulo p_i, and -t modulo p_i at the end
    std::vector<Words64> slot_negatives_;         // -1 / t_j modulo p_i
    SlotTables slot_tables_ = {};
    unsigned __int128 slot_modulus_ = 1;
    unsigned __int128 slot_parts_[kSlotPrimes] = {};  // t / t_j
};

// For each wave, its values at all angles, one after the other.
void all_waves(const LatticeCore& core, const std::vector<Wave>& waves, const std::uint32_t* angles, std::size_t count,
               std::int32_t* out, unsigned threads);

// A party's own products: a matrix (rows, columns) with a vector of two words each, modulo 2^64, and its transpose with
// one, modulo 2^128.
void multiply_rows(const std::int32_t* entries, std::size_t rows, std::size_t columns, const std::uint64_t* share,
                   std::uint64_t* out, unsigned threads);
void add_up_rows(const std::int32_t* entries, std::size_t rows, std::size_t columns, const std::uint64_t* share,
                 std::uint64_t* out, unsigned threads);

// For large pieces of memory, pages of two megabytes where the system has them: it clears them faster than small ones.
void prefer_large_pages(void* memory, std::size_t size);

}  // namespace plumbob
