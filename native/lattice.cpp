#include "lattice.h"

#include <cstring>
#include <memory>
#include <stdexcept>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "lattice_common.h"
#include "threads.h"

#if defined(PLUMBOB_SECRETS_ARE_UNDEFINED)
#include <valgrind/memcheck.h>
#endif

namespace plumbob {
namespace {

constexpr std::uint32_t kSmallStream = 0xFFFFFFFF;
constexpr unsigned kHighBytes = 40;
constexpr std::size_t kWeights = kSlotPrimes + 1;  // of a plaintext in slots: its weights, and how often it wraps
constexpr std::size_t kPiece = 256;                // residues that are worked on while the first cache holds them
constexpr std::size_t kRows = 8192;                // of own products, one thread's turn
constexpr std::size_t kTogether = 4;               // terms of a sum of products that are added up before it is reduced

// Says of a secret's consequence that anybody may know it, with the reason beside the call. Only where valgrind is told that
// secrets are undefined, in native/tests/secret_timing.cpp, does this do anything.
template <class Value>
void make_public([[maybe_unused]] Value& value) {
#if defined(PLUMBOB_SECRETS_ARE_UNDEFINED)
    VALGRIND_MAKE_MEM_DEFINED(&value, sizeof value);
#endif
}

// Room for numbers that are written before they are read: it is not filled, and a worker uses it again and again.
class Room {
public:
    explicit Room(std::size_t size) : data_(new std::uint64_t[size]) { prefer_large_pages(data_.get(), 8 * size); }
    std::uint64_t* data() const { return data_.get(); }
    std::uint64_t& operator[](std::size_t index) const { return data_[index]; }

private:
    std::unique_ptr<std::uint64_t[]> data_;
};

// Calls work(room, item) for each item, on several threads. Each thread has one room.
template <class Work>
void for_each_item(unsigned threads, std::size_t items, std::size_t size, Work work) {
    hand_out(threads, items, [&](std::size_t) {
        return [&work, room = Room(size)](std::size_t item) {
            work(room.data(), item);
            return false;
        };
    });
}

std::uint64_t multiply_mod(std::uint64_t a, std::uint64_t b, std::uint64_t p) {
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % p);
}

std::uint64_t power_mod(std::uint64_t base, std::uint64_t exponent, std::uint64_t p) {
    std::uint64_t result = 1;
    for (; exponent > 0; exponent /= 2, base = multiply_mod(base, base, p)) {
        if (exponent % 2 == 1) result = multiply_mod(result, base, p);
    }
    return result;
}

std::uint64_t invert_mod(std::uint64_t value, std::uint64_t p) { return power_mod(value % p, p - 2, p); }

std::uint64_t negate_mod(std::uint64_t value, std::uint64_t p) { return value == 0 ? 0 : p - value; }

Factor make_factor(std::uint64_t value, std::uint64_t p) {
    return {value, static_cast<std::uint64_t>((static_cast<Wide>(value) << 64) / p),
            static_cast<std::uint64_t>((static_cast<Wide>(value) << 52) / p)};
}

std::uint64_t times(std::uint64_t x, const Factor& factor, std::uint64_t p) {
    return multiply_lazily(x, factor.value, factor.quotient, p);
}

std::uint64_t bits_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

std::size_t reverse_bits(std::size_t value, unsigned bits) {
    std::size_t result = 0;
    for (unsigned k = 0; k < bits; ++k) result |= (value >> k & 1) << (bits - 1 - k);
    return result;
}

}  // namespace

LatticePrime Lattice::make_prime(std::uint64_t p, std::uint64_t root) {
    unsigned bits = 0;
    while (std::size_t{1} << bits < degree_) ++bits;
    Words64 powers(degree_), inverses(degree_);
    const std::uint64_t inverse_root = invert_mod(root, p);
    std::uint64_t power = 1, inverse = 1;
    for (std::size_t k = 0; k < degree_; ++k) {
        powers[reverse_bits(k, bits)] = power;
        inverses[reverse_bits(k, bits)] = inverse;
        power = multiply_mod(power, root, p);
        inverse = multiply_mod(inverse, inverse_root, p);
    }
    tables_.push_back(std::make_unique<Tables>());
    Tables& t = *tables_.back();
    const bool is_double = core_.quotient_bits == 0;
    auto stored = [&](std::uint64_t w) { return is_double ? bits_of(static_cast<double>(w)) : w; };
    auto quotient = [&](std::uint64_t w) {
        if (is_double) return bits_of(static_cast<double>(w) / static_cast<double>(p));
        const Factor factor = make_factor(w, p);
        return core_.quotient_bits == 64 ? factor.quotient : factor.quotient52;
    };
    auto fill = [&](const Words64& from, Words64& values, Words64& quotients, Words64& tail) {
        for (std::uint64_t w : from) values.push_back(stored(w)), quotients.push_back(quotient(w));
        // Which block each lane of the tail's vectors belongs to, relative to the two blocks a, b that it holds.
        const unsigned lanes = core_.lanes;
        for (std::size_t pair = 0; lanes == 4 && pair < degree_ / (2 * lanes); ++pair) {
            const std::size_t a = 2 * pair, b = a + 1;
            const std::vector<std::vector<std::size_t>> order = {{a, a, b, b}, {2 * a, 2 * a + 1, 2 * b, 2 * b + 1}};
            std::size_t blocks = degree_ / lanes;
            for (const auto& stage : order) {
                for (std::size_t block : stage) tail.push_back(stored(from[blocks + block]));
                for (std::size_t block : stage) tail.push_back(quotient(from[blocks + block]));
                blocks *= 2;
            }
        }
    };
    fill(powers, t.forward, t.forward_quotients, t.forward_tail);
    fill(inverses, t.inverse, t.inverse_quotients, t.inverse_tail);
    return {p,
            degree_,
            t.forward.data(),
            t.forward_quotients.data(),
            t.inverse.data(),
            t.inverse_quotients.data(),
            t.forward_tail.data(),
            t.inverse_tail.data(),
            make_factor(invert_mod(degree_, p), p),
            make_factor((std::uint64_t{1} << 52) % p, p)};
}

Lattice::Lattice(const LatticeCore& core, std::size_t degree, const Words64& primes, const Words64& roots,
                 const Words64& slot_primes, const Words64& slot_roots)
    : core_(core), degree_(degree) {
    for (std::size_t i = 0; i < primes.size(); ++i) primes_.push_back(make_prime(primes[i], roots[i]));
    for (std::size_t j = 0; j < slot_primes.size(); ++j) slot_primes_.push_back(make_prime(slot_primes[j], slot_roots[j]));
    Wide modulus = 1;
    for (std::uint64_t p : primes) modulus *= p;
    modulus_low_[0] = static_cast<std::uint64_t>(modulus), modulus_low_[1] = static_cast<std::uint64_t>(modulus >> 64);
    for (std::size_t i = 0; i < primes.size(); ++i) {
        const std::uint64_t p = primes[i];
        std::uint64_t rest = 1;
        for (std::size_t j = 0; j < primes.size(); ++j) rest = i == j ? rest : multiply_mod(rest, primes[j] % p, p);
        const std::uint64_t divided = primes_[i].degree_inverse.value;
        fraction_scales_.push_back(make_factor(multiply_mod(invert_mod(rest, p), divided, p), p));
        // Long division of 2^256 by p, limb by limb from the top.
        Words64 reciprocal(4);
        Wide remainder = 1;
        for (int limb = 3; limb >= 0; --limb) {
            const Wide value = remainder << 64;
            reciprocal[limb] = static_cast<std::uint64_t>(value / p);
            remainder = value % p;
        }
        reciprocals_.push_back(reciprocal);
        mixed_.emplace_back();
        for (std::size_t j = 0; j < i; ++j) mixed_[i].push_back(make_factor(invert_mod(primes[j], p), p));
    }
    for (std::uint64_t p : slot_primes) slot_modulus_ *= p;
    for (std::size_t j = 0; j < slot_primes.size(); ++j) {
        const std::uint64_t p = slot_primes[j];
        slot_parts_[j] = slot_modulus_ / p;
        const std::uint64_t inverse = invert_mod(static_cast<std::uint64_t>(slot_parts_[j] % p), p);
        std::uint64_t scale = inverse;
        for (std::uint64_t each : primes) scale = multiply_mod(scale, each % p, p);
        slot_inverses_.push_back(make_factor(inverse, p));
        const std::uint64_t divided = slot_primes_[j].degree_inverse.value;
        plain_scales_.push_back(make_factor(multiply_mod(inverse, divided, p), p));
        slot_scales_.push_back(make_factor(multiply_mod(scale, divided, p), p));
    }
    for (std::uint64_t p : primes) {
        Words64 rests, negatives;
        for (std::size_t j = 0; j < slot_primes.size(); ++j) {
            rests.push_back(static_cast<std::uint64_t>(slot_parts_[j] % p));
            negatives.push_back(negate_mod(invert_mod(slot_primes[j], p), p));
        }
        rests.push_back(negate_mod(static_cast<std::uint64_t>(slot_modulus_ % p), p));
        slot_rests_.push_back(rests);
        slot_negatives_.push_back(negatives);
    }
    if (has_slots()) fill_slot_tables();
}

void Lattice::fill_slot_tables() {
    constexpr unsigned kDigit = 52;
    slot_tables_.degree = degree_;
    slot_tables_.parts = primes();
    slot_tables_.modulus[0] = static_cast<std::uint64_t>(slot_modulus_);
    slot_tables_.modulus[1] = static_cast<std::uint64_t>(slot_modulus_ >> 64);
    for (std::size_t j = 0; j < kSlotPrimes; ++j) {
        const std::uint64_t p = slot_primes_[j].value;
        slot_tables_.primes[j] = slot_primes_[j];
        slot_tables_.ones[j] = make_factor(1, p);
        slot_tables_.words[j][0] = make_factor(power_mod(2, 50, p), p);
        slot_tables_.words[j][1] = make_factor(power_mod(2, 100, p), p);
        slot_tables_.rests[j][0] = static_cast<std::uint64_t>(slot_parts_[j]) & kLow52;
        slot_tables_.rests[j][1] = static_cast<std::uint64_t>(slot_parts_[j] >> kDigit);
        for (std::size_t i = 0; i < primes(); ++i) {
            slot_tables_.wholes[i][j] = static_cast<std::uint64_t>(slot_modulus_ / primes_[i].value % p);
        }
    }
    for (std::size_t i = 0; i < primes(); ++i) {
        Wide remainder = slot_modulus_ % primes_[i].value;
        for (std::uint64_t& digit : slot_tables_.fractions[i]) {
            const Wide value = remainder << kDigit;
            digit = static_cast<std::uint64_t>(value / primes_[i].value);
            remainder = value % primes_[i].value;
        }
    }
}

// Streams.

void Lattice::uniform_part(const StreamKey& key, std::uint64_t index, std::size_t part, std::uint64_t* out) const {
    const std::uint32_t nonce[3] = {static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(index),
                                    static_cast<std::uint32_t>(index >> 32)};
    const std::uint64_t p = primes_[part].value;
    core_.stream(key.words, nonce, 0, out, degree_ / kWordsPerStreamBlock);
    // The words are independent: which of them are refused says nothing about those that are kept, secret or not.
    bool is_refused = core_.cut(primes_[part], out) >> 63 != 0;
    make_public(is_refused);
    if (!is_refused) return;
    auto is_kept = [p](std::uint64_t word) {
        bool is_below = word < p;
        make_public(is_below);
        return is_below;
    };
    std::size_t kept = 0;
    for (std::size_t i = 0; i < degree_; ++i) {
        if (is_kept(out[i])) out[kept++] = out[i];
    }
    std::uint64_t more[kWordsPerStreamBlock];
    for (std::uint32_t block = static_cast<std::uint32_t>(degree_ / kWordsPerStreamBlock); kept < degree_; ++block) {
        core_.stream(key.words, nonce, block, more, 1);
        for (unsigned k = 0; k < kWordsPerStreamBlock && kept < degree_; ++k) {
            if (is_kept(more[k] & kLow50)) out[kept++] = more[k] & kLow50;
        }
    }
}

// One prime's uniform polynomial, a piece at a time.
class Lattice::UniformPieces {
public:
    UniformPieces(const Lattice& lattice, const StreamKey& key, std::uint64_t index, std::size_t part)
        : lattice_(lattice), key_(key), index_(index), part_(part), prime_(cut_to(lattice.primes_[part], lattice.piece_size())) {}

    // The residues from `at` on, in the room or elsewhere. A refused word moves all that follow it: then, which is rare,
    // the whole polynomial is drawn.
    const std::uint64_t* piece(std::size_t at, std::uint64_t* room) {
        if (whole_ == nullptr) {
            const std::uint32_t nonce[3] = {static_cast<std::uint32_t>(part_), static_cast<std::uint32_t>(index_),
                                            static_cast<std::uint32_t>(index_ >> 32)};
            lattice_.core_.stream(key_.words, nonce, static_cast<std::uint32_t>(at / kWordsPerStreamBlock), room,
                                  prime_.degree / kWordsPerStreamBlock);
            if (lattice_.core_.cut(prime_, room) >> 63 == 0) return room;
            whole_ = std::make_unique<Room>(lattice_.degree_);
            lattice_.uniform_part(key_, index_, part_, whole_->data());
        }
        return whole_->data() + at;
    }

private:
    const Lattice& lattice_;
    const StreamKey& key_;
    std::uint64_t index_;
    std::size_t part_;
    LatticePrime prime_;
    std::unique_ptr<Room> whole_;
};

std::size_t Lattice::piece_size() const { return std::min(kPiece, degree_); }

// For what goes element by element: the prime, with fewer of them.
LatticePrime Lattice::cut_to(const LatticePrime& prime, std::size_t size) {
    LatticePrime shorter = prime;
    shorter.degree = size;
    return shorter;
}

void Lattice::inverse(std::size_t part, std::uint64_t* values) const {
    core_.inverse(primes_[part], values, primes_[part].degree_inverse);
}

// Of a polynomial modulo all primes, with the factors that `fractions` expects.
void Lattice::inverse_for_fractions(std::uint64_t* values) const {
    for (std::size_t part = 0; part < primes(); ++part) {
        core_.inverse(primes_[part], values + part * degree_, fraction_scales_[part]);
    }
}

void Lattice::uniform(const StreamKey& key, std::uint64_t index, std::uint64_t* out) const {
    for (std::size_t part = 0; part < primes(); ++part) uniform_part(key, index, part, out + part * degree_);
}

// Bytes modulo three; the byte 255 is refused. Which bytes were refused is all that time and addresses depend on: the bytes
// are independent, so it says nothing about those that are kept.
void Lattice::small_ternary(const StreamKey& key, std::uint64_t index, std::int8_t* out) const {
    const std::uint32_t nonce[3] = {kSmallStream, static_cast<std::uint32_t>(index),
                                    static_cast<std::uint32_t>(index >> 32)};
    constexpr unsigned kBlocks = 16;
    std::uint64_t words[kBlocks * kWordsPerStreamBlock];
    std::uint8_t bytes[sizeof words];
    std::size_t kept = 0;
    for (std::uint32_t block = 0; kept < degree_; block += kBlocks) {
        core_.stream(key.words, nonce, block, words, kBlocks);
        std::memcpy(bytes, words, sizeof words);
        for (std::size_t k = 0; k < sizeof bytes && kept < degree_; ++k) {
            const unsigned value = bytes[k];
            out[kept] = static_cast<std::int8_t>(static_cast<int>(value - 3 * (value * 171 >> 9)) - 1);
            unsigned is_kept = (value + 1) >> 8 ^ 1;
            make_public(is_kept);
            kept += is_kept;
        }
    }
}

void Lattice::small_errors(const StreamKey& key, std::uint64_t index, std::int8_t* out) const {
    const std::uint32_t nonce[3] = {kSmallStream, static_cast<std::uint32_t>(index),
                                    static_cast<std::uint32_t>(index >> 32)};
    constexpr std::uint64_t kCoins = (std::uint64_t{1} << 21) - 1;
    constexpr std::size_t kBlocks = 16, kWords = kBlocks * kWordsPerStreamBlock;
    std::uint64_t words[kWords];
    for (std::size_t first = 0; first < degree_; first += kWords) {
        const std::size_t count = std::min(kWords, degree_ - first);
        core_.stream(key.words, nonce, static_cast<std::uint32_t>(first / kWordsPerStreamBlock), words,
                     count / kWordsPerStreamBlock);
        for (std::size_t i = 0; i < count; ++i) {
            // Both groups of coins are counted at once, in the halves of a word.
            std::uint64_t x = (words[i] & kCoins) | (words[i] >> 21 & kCoins) << 32;
            x -= x >> 1 & 0x5555555555555555;
            x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
            x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
            x += x >> 8;
            x += x >> 16;
            out[first + i] = static_cast<std::int8_t>(static_cast<int>(x & 63) - static_cast<int>(x >> 32 & 63));
        }
    }
}

void Lattice::transform_small(const std::int8_t* values, std::size_t part, std::uint64_t* out) const {
    core_.from_bytes(primes_[part], out, values);
    core_.forward(primes_[part], out);
}

void Lattice::ternary(const StreamKey& key, std::uint64_t index, std::uint64_t* out) const {
    std::vector<std::int8_t> small(degree_);
    small_ternary(key, index, small.data());
    for (std::size_t part = 0; part < primes(); ++part) transform_small(small.data(), part, out + part * degree_);
}

void Lattice::errors(const StreamKey& key, std::uint64_t index, std::uint64_t* out) const {
    std::vector<std::int8_t> small(degree_);
    small_errors(key, index, small.data());
    for (std::size_t part = 0; part < primes(); ++part) transform_small(small.data(), part, out + part * degree_);
}

void Lattice::transform(const std::int32_t* coefficients, std::uint64_t* out) const {
    for (std::size_t part = 0; part < primes(); ++part, out += degree_) {
        core_.from_integers(primes_[part], out, coefficients);
        core_.forward(primes_[part], out);
    }
}

void Lattice::transform_all(const std::int32_t* coefficients, std::size_t count, std::uint64_t* out,
                            unsigned threads) const {
    for_each_item(threads, count, 0, [&](std::uint64_t*, std::size_t index) {
        transform(coefficients + index * degree_, out + index * words());
    });
}

void Lattice::forward(std::uint64_t* values) const {
    for (std::size_t part = 0; part < primes(); ++part) core_.forward(primes_[part], values + part * degree_);
}

bool Lattice::is_reduced(const std::uint64_t* values) const {
    std::uint64_t refused = 0;
    for (std::size_t part = 0; part < primes(); ++part) {
        const std::uint64_t most = primes_[part].value - 1;
        for (std::size_t i = 0; i < degree_; ++i) refused |= (values[part * degree_ + i] | (most - values[part * degree_ + i]));
    }
    return refused >> 63 == 0;
}

void Lattice::combine(const std::uint64_t* first, const std::uint64_t* second, const std::uint64_t* third,
                      std::uint64_t* out) const {
    std::memcpy(out, first, 8 * words());
    for (std::size_t part = 0; part < primes(); ++part) {
        const std::uint64_t *left = second + part * degree_, *right = third + part * degree_;
        core_.dot(primes_[part], out + part * degree_, &left, &right, 1);
    }
}

void Lattice::pack(const std::uint64_t* values, std::uint8_t* out) const {
    for (std::size_t part = 0; part < primes(); ++part) {
        core_.pack(primes_[part], out + part * packed_bytes(), values + part * degree_);
    }
}

bool Lattice::unpack(const std::uint8_t* packed, std::uint64_t* out) const {
    std::uint64_t refused = 0;
    for (std::size_t part = 0; part < primes(); ++part) {
        refused |= core_.unpack(primes_[part], out + part * degree_, packed + part * packed_bytes());
    }
    return refused >> 63 == 0;
}

// Encryption.

// What both kinds have in common: a times the secret is added.
void Lattice::finish_encryption(const RequestKeys& keys, std::size_t index, std::size_t part, std::uint64_t* data,
                                std::uint8_t* out) const {
    core_.forward(primes_[part], data);
    const LatticePrime prime = cut_to(primes_[part], piece_size());
    UniformPieces uniform(*this, keys.uniform, keys.first + index, part);
    std::uint64_t room[kPiece];
    std::uint8_t* target = out + (index * primes() + part) * packed_bytes();
    for (std::size_t at = 0; at < degree_; at += prime.degree, target += prime.degree * kPrimeBits / 8) {
        const std::uint64_t *a = uniform.piece(at, room), *right = keys.secret + part * degree_ + at;
        core_.dot(prime, data + at, &a, &right, 1);
        core_.pack(prime, target, data + at);
    }
}

// round(q m / 2^bits) = (q m + h - r) / 2^bits, with h half of 2^bits and r = (q m + h) modulo 2^bits. Modulo p, which
// divides q, only (h - r) / 2^bits is left of it.
void Lattice::encrypt(const RequestKeys& keys, std::size_t count, const std::uint64_t* messages, unsigned bits,
                      std::uint8_t* out, unsigned threads) const {
    const Wide modulus = static_cast<Wide>(modulus_low_[1]) << 64 | modulus_low_[0];
    const Wide half = static_cast<Wide>(1) << (bits - 1);
    const Wide mask = bits == 128 ? ~static_cast<Wide>(0) : (half << 1) - 1;
    for_each_item(threads, count, 5 * degree_, [&](std::uint64_t* chunks, std::size_t index) {
        std::uint64_t* data = chunks + 3 * degree_;
        std::int8_t* errors = reinterpret_cast<std::int8_t*>(chunks + 4 * degree_);
        small_errors(keys.errors, keys.first + index, errors);
        const std::uint64_t* message = messages + 2 * index * degree_;
        for (std::size_t i = 0; i < degree_; ++i) {
            const Wide m = static_cast<Wide>(message[2 * i + 1]) << 64 | message[2 * i];
            const Wide r = (modulus * m + half) & mask;
            chunks[i] = static_cast<std::uint64_t>(r) & kLow50;
            chunks[degree_ + i] = static_cast<std::uint64_t>(r >> 50) & kLow50;
            chunks[2 * degree_ + i] = static_cast<std::uint64_t>(r >> 100);
        }
        for (std::size_t part = 0; part < primes(); ++part) {
            const std::uint64_t p = primes_[part].value;
            const std::uint64_t scale = invert_mod(power_mod(2, bits, p), p);
            const std::uint64_t step = std::uint64_t{1} << 50;
            std::uint64_t factors[3];
            factors[0] = negate_mod(scale, p);
            factors[1] = multiply_mod(factors[0], step % p, p);
            factors[2] = multiply_mod(factors[1], step % p, p);
            const std::uint64_t* lefts[3] = {chunks, chunks + degree_, chunks + 2 * degree_};
            const std::uint64_t constant = multiply_mod(scale, power_mod(2, bits - 1, p), p);
            core_.linear(primes_[part], data, lefts, factors, 3, errors, constant);
            finish_encryption(keys, index, part, data, out);
        }
    });
}

void Lattice::slot_residues(const std::int32_t* values, std::size_t j, std::uint64_t* out) const {
    core_.from_integers(slot_primes_[j], out, values);
}

void Lattice::slot_residues(const std::uint64_t* values, std::size_t j, std::uint64_t* out) const {
    core_.slot_residues(slot_tables_, j, out, values);
}

// Coefficients of the polynomial with these slots, as weights modulo each slot prime.
template <class Value>
void Lattice::slot_weights(const Value* values, const std::vector<Factor>& scales, std::uint64_t* out) const {
    for (std::size_t j = 0; j < slot_primes_.size(); ++j, out += degree_) {
        slot_residues(values, j, out);
        core_.inverse(slot_primes_[j], out, scales[j]);
    }
}

// floor(w q / t_j) = (w q - r) / t_j with r = w q modulo t_j: modulo p, which divides q, that is -r / t_j.
template <class Value>
void Lattice::encrypt_slots(const RequestKeys& keys, std::size_t count, const Value* values, std::uint8_t* out,
                            unsigned threads) const {
    for_each_item(threads, count, (kSlotPrimes + 2) * degree_, [&](std::uint64_t* weights, std::size_t index) {
        std::uint64_t* data = weights + kSlotPrimes * degree_;
        std::int8_t* errors = reinterpret_cast<std::int8_t*>(data + degree_);
        small_errors(keys.errors, keys.first + index, errors);
        slot_weights(slots_at(values, index), slot_scales_, weights);
        const std::uint64_t* lefts[kSlotPrimes];
        for (std::size_t j = 0; j < kSlotPrimes; ++j) lefts[j] = weights + j * degree_;
        for (std::size_t part = 0; part < primes(); ++part) {
            core_.linear(primes_[part], data, lefts, slot_negatives_[part].data(), kSlotPrimes, errors, 0);
            finish_encryption(keys, index, part, data, out);
        }
    });
}

template void Lattice::encrypt_slots(const RequestKeys&, std::size_t, const std::int32_t*, std::uint8_t*, unsigned) const;
template void Lattice::encrypt_slots(const RequestKeys&, std::size_t, const std::uint64_t*, std::uint8_t*, unsigned) const;

// The fraction x / q modulo 1 of one coefficient, in units of 2^-256, from x (q / p)^-1 modulo each prime p.
void Lattice::fraction_of(const std::uint64_t* coefficients, std::size_t place, std::uint64_t out[4]) const {
    std::uint64_t sum[4] = {};
    for (std::size_t part = 0; part < primes(); ++part) {
        const std::uint64_t scaled = coefficients[part * degree_ + place];
        const std::uint64_t* reciprocal = reciprocals_[part].data();
        Wide carry = 0;
        for (int limb = 0; limb < 4; ++limb) {
            carry += static_cast<Wide>(scaled) * reciprocal[limb] + sum[limb];
            sum[limb] = static_cast<std::uint64_t>(carry);
            carry >>= 64;
        }
    }
    std::memcpy(out, sum, sizeof sum);
}

namespace {

// round(2^bits x) modulo 2^bits for a fraction x, 1 <= bits <= 128.
Wide fraction_bits(const std::uint64_t* fraction, unsigned bits) {
    Wide high = static_cast<Wide>(fraction[3]) << 64 | fraction[2];
    if (bits == 128) return high + (fraction[1] >> 63);
    high += static_cast<Wide>(1) << (127 - bits);
    return high >> (128 - bits);
}

void store_pair(std::uint64_t* at, Wide value) {
    at[0] = static_cast<std::uint64_t>(value), at[1] = static_cast<std::uint64_t>(value >> 64);
}

}  // namespace

// Replies.

// A request's polynomials as they came, c0, and those that they were encrypted by, a = -c1, modulo all primes.
class Lattice::ReadRequest {
public:
    ReadRequest(const Lattice& lattice, const StreamKey& uniform_key, std::uint64_t first, const std::uint8_t* packed,
                std::size_t requests, unsigned threads)
        : lattice_(lattice), requests_(requests), received_(requests * lattice.words()), expanded_(requests * lattice.words()) {
        const std::size_t parts = lattice.primes();
        std::atomic<std::uint64_t> refused{0};
        for_each_item(threads, requests * parts, 0, [&](std::uint64_t*, std::size_t item) {
            const std::size_t index = item / parts, part = item % parts, at = item * lattice.degree_;
            lattice.uniform_part(uniform_key, first + index, part, expanded_.data() + at);
            refused |= lattice.core_.unpack(lattice.primes_[part], received_.data() + at, packed + item * lattice.packed_bytes());
        });
        is_refused_ = refused >> 63 != 0;
    }

    bool is_refused() const { return is_refused_; }

    // Adds the products with one row of a matrix, for one prime; and to the first sum b u, where there is a b.
    void multiply(const std::uint64_t* row, std::size_t part, std::uint64_t* sum, std::uint64_t* opposite,
                  const std::uint64_t* b = nullptr, const std::uint64_t* u = nullptr) const {
        const LatticePrime& prime = lattice_.primes_[part];
        std::vector<const std::uint64_t*> c0(requests_ + 1, b), a(requests_), factors(requests_ + 1, u);
        for (std::size_t k = 0; k < requests_; ++k) {
            const std::size_t at = k * lattice_.words() + part * lattice_.degree_;
            c0[k] = received_.data() + at, a[k] = expanded_.data() + at, factors[k] = row + at;
        }
        lattice_.core_.dot(prime, sum, c0.data(), factors.data(), b == nullptr ? requests_ : requests_ + 1);
        lattice_.core_.dot(prime, opposite, a.data(), factors.data(), requests_);
    }

private:
    const Lattice& lattice_;
    std::size_t requests_;
    Room received_, expanded_;
    bool is_refused_ = false;
};

bool Lattice::add_up(const StreamKey& uniform_key, std::uint64_t first, const std::uint8_t* packed, std::size_t requests,
                     const std::uint64_t* matrix, std::size_t replies, std::uint64_t* sums, unsigned threads) const {
    const ReadRequest request(*this, uniform_key, first, packed, requests, threads);
    if (request.is_refused()) return false;
    std::memset(sums, 0, 8 * 2 * replies * words());
    for_each_item(threads, replies * primes(), 0, [&](std::uint64_t*, std::size_t item) {
        const std::size_t index = item / primes(), part = item % primes();
        std::uint64_t* sum = sums + 2 * index * words() + part * degree_;
        request.multiply(matrix + index * requests * words(), part, sum, sum + words());
    });
    return true;
}

bool Lattice::reply(const ReplyKeys& keys, const std::uint8_t* packed, std::size_t requests, const std::uint64_t* matrix,
                    std::size_t replies, const std::uint64_t* sums, unsigned reply_bits, unsigned share_bits,
                    const Places& answers, std::uint8_t* sent, std::uint64_t* shares, unsigned threads) const {
    const std::size_t parts = primes(), all = words();
    const ReadRequest request(*this, keys.uniform, 0, packed, requests, threads);
    if (request.is_refused()) return false;
    const Room key(all);
    uniform(keys.a, 0, key.data());
    const std::size_t size = 2 * all + 3 * degree_;
    for_each_item(threads, replies, size, [&](std::uint64_t* room, std::size_t index) {
        std::uint64_t *own = room, *answer = own + all, *secret = answer + all, *opposite = secret + degree_;
        std::int8_t* u = reinterpret_cast<std::int8_t*>(opposite + degree_);
        std::int8_t* errors = u + degree_;
        small_ternary(keys.secret, keys.first + index, u);
        small_errors(keys.errors, keys.first + index, errors);
        for (std::size_t part = 0; part < parts; ++part) {
            const LatticePrime& prime = primes_[part];
            const std::size_t at = part * degree_;
            const std::uint64_t *a = key.data() + at, *s = secret;
            transform_small(u, part, secret);
            if (sums == nullptr) {
                std::memset(own + at, 0, 8 * degree_);
                std::memset(opposite, 0, 8 * degree_);
            } else {
                std::memcpy(own + at, sums + 2 * index * all + at, 8 * degree_);
                std::memcpy(opposite, sums + (2 * index + 1) * all + at, 8 * degree_);
            }
            // -(c1 Z) first, then a u + e2 less that.
            request.multiply(matrix + index * requests * all, part, own + at, opposite, keys.b + at, secret);
            transform_small(errors, part, answer + at);
            core_.dot(prime, answer + at, &a, &s, 1);
            core_.subtract(prime, answer + at, answer + at, opposite);
        }
        inverse_for_fractions(own);
        inverse_for_fractions(answer);
        std::uint64_t fraction[4];
        for (std::size_t k = 0; k < answers.size(); ++k) {
            fraction_of(own, answers[k], fraction);
            store_pair(shares + 2 * (index * answers.size() + k), fraction_bits(fraction, share_bits));
        }
        std::uint8_t* target = sent + index * degree_ * (reply_bits / 8);
        for (std::size_t i = 0; i < degree_; ++i, target += reply_bits / 8) {
            fraction_of(answer, i, fraction);
            const Wide value = fraction_bits(fraction, reply_bits);
            std::memcpy(target, &value, reply_bits / 8);
        }
    });
    return true;
}

// The weights of numbers in slots, and how many of them are taken as negative: t is subtracted for each.
template <class Value>
void Lattice::plain_weights(const Value* values, std::uint64_t* out) const {
    slot_weights(values, plain_scales_, out);
    std::uint64_t* wraps = out + kSlotPrimes * degree_;
    std::memset(wraps, 0, 8 * degree_);
    for (std::size_t j = 0; j < kSlotPrimes; ++j) {
        core_.count_above(slot_primes_[j], wraps, out + j * degree_, slot_primes_[j].value / 2);
    }
}

// The sums of a few terms' products, with what was received and with what it was encrypted by, for one prime.
void Lattice::multiply_terms(const StreamKey& uniform_key, std::uint64_t first, const std::uint8_t* packed,
                             std::size_t count, std::size_t part, const std::uint64_t* weights, std::uint64_t* sum,
                             std::uint64_t* opposite, std::uint64_t* room, std::atomic<std::uint64_t>& refused) const {
    std::vector<UniformPieces> uniforms;
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t* lefts[kWeights];
        for (std::size_t j = 0; j < kWeights; ++j) lefts[j] = weights + (k * kWeights + j) * degree_;
        core_.linear(primes_[part], room + k * degree_, lefts, slot_rests_[part].data(), kWeights, nullptr, 0);
        core_.forward(primes_[part], room + k * degree_);
        uniforms.emplace_back(*this, uniform_key, first + k, part);
    }
    const LatticePrime prime = cut_to(primes_[part], piece_size());
    std::uint64_t received[kTogether][kPiece], expanded[kTogether][kPiece];
    for (std::size_t at = 0; at < degree_; at += prime.degree) {
        const std::uint64_t *c0[kTogether], *c1[kTogether], *factors[kTogether];
        for (std::size_t k = 0; k < count; ++k) {
            const std::uint8_t* from = packed + (k * primes() + part) * packed_bytes() + at * kPrimeBits / 8;
            refused |= core_.unpack(prime, received[k], from);
            c0[k] = received[k], c1[k] = uniforms[k].piece(at, expanded[k]), factors[k] = room + k * degree_ + at;
        }
        core_.dot(prime, sum + at, c0, factors, count);
        core_.dot(prime, opposite + at, c1, factors, count);
    }
}

template <class Value>
bool Lattice::reply_slots(const ReplyKeys& keys, const std::uint8_t* packed, std::size_t blocks, std::size_t terms,
                          const Value* values, std::uint8_t* sent, std::uint64_t* shares,
                          unsigned threads) const {
    const std::size_t parts = primes(), all = words();
    std::atomic<std::uint64_t> refused{0};
    // As many blocks as threads at a time, so that every thread has work, and memory for no more.
    const std::size_t most = std::max<std::size_t>(1, std::min<std::size_t>(threads, blocks));
    const Room weights(most * terms * kWeights * degree_), own(most * all);
    std::vector<std::int8_t> u(most * degree_), errors(most * degree_);
    for (std::size_t first = 0; first < blocks; first += most) {
        const std::size_t count = std::min(most, blocks - first);
        for_each_item(threads, count * (terms + 1), 0, [&](std::uint64_t*, std::size_t item) {
            const std::size_t each = item % count, term = item / count;
            if (term < terms) {
                plain_weights(slots_at(values, (first + each) * terms + term),
                              weights.data() + (each * terms + term) * kWeights * degree_);
            } else {
                small_ternary(keys.secret, keys.first + first + each, u.data() + each * degree_);
                small_errors(keys.errors, keys.first + first + each, errors.data() + each * degree_);
            }
        });
        for_each_item(threads, count * parts, (kTogether + 1) * degree_, [&](std::uint64_t* room, std::size_t item) {
            const std::size_t each = item / parts, part = item % parts, block = first + each;
            const LatticePrime& prime = primes_[part];
            std::uint64_t *sum = own.data() + each * all + part * degree_, *opposite = room + kTogether * degree_;
            std::memset(sum, 0, 8 * degree_);
            std::memset(opposite, 0, 8 * degree_);
            for (std::size_t term = 0; term < terms; term += kTogether) {
                multiply_terms(keys.uniform, (keys.first + block) * terms + term,
                               packed + (block * terms + term) * parts * packed_bytes(), std::min(kTogether, terms - term),
                               part, weights.data() + (each * terms + term) * kWeights * degree_, sum, opposite, room,
                               refused);
            }
            std::uint64_t *secret = room, *expanded = secret + degree_, *answer = expanded + degree_;
            transform_small(u.data() + each * degree_, part, secret);
            const std::uint64_t *b = keys.b + part * degree_, *a = expanded, *factor = secret;
            core_.dot(prime, sum, &b, &factor, 1);
            uniform_part(keys.a, 0, part, expanded);
            transform_small(errors.data() + each * degree_, part, answer);
            core_.dot(prime, answer, &a, &factor, 1);
            core_.subtract(prime, answer, answer, opposite);
            core_.pack(prime, sent + (block * parts + part) * packed_bytes(), answer);
        });
        if (refused >> 63 != 0) return false;
        for_each_item(threads, count, 0, [&](std::uint64_t*, std::size_t each) {
            slot_shares(own.data() + each * all, shares + 2 * (first + each) * degree_);
        });
    }
    return true;
}

// One complex product for each turn: (x + i y) (c + i s) = (x c - y s) + i (x s + y c).
template <class Value>
bool Lattice::reply_turns(const ReplyKeys& keys, const std::uint8_t* packed, std::size_t blocks, std::size_t turns,
                          const Value* values, std::uint8_t* sent, std::uint64_t* shares,
                          unsigned threads) const {
    const std::size_t parts = primes(), all = words(), terms = 2 * turns;
    std::atomic<std::uint64_t> refused{0};
    const Room key(all);
    for (std::size_t part = 0; part < parts; ++part) uniform_part(keys.a, 0, part, key.data() + part * degree_);
    const std::size_t size = 2 * kWeights * degree_ + 2 * all + 10 * degree_ + degree_ / 2;
    for_each_item(threads, blocks * turns, size, [&](std::uint64_t* weights, std::size_t item) {
        const std::size_t block = item / turns, turn = item % turns;
        const std::size_t places[2] = {block * terms + turn, block * terms + turns + turn};
        std::uint64_t* own = weights + 2 * kWeights * degree_;  // The real part, then the imaginary one.
        std::uint64_t* room = own + 2 * all;
        std::int8_t* small = reinterpret_cast<std::int8_t*>(room + 10 * degree_);  // u, e2 of either reply
        for (std::size_t k = 0; k < 2; ++k) {
            plain_weights(slots_at(values, places[k]), weights + k * kWeights * degree_);
            small_ternary(keys.secret, keys.first * terms + places[k], small + 2 * k * degree_);
            small_errors(keys.errors, keys.first * terms + places[k], small + (2 * k + 1) * degree_);
        }
        for (std::size_t part = 0; part < parts; ++part) {
            const LatticePrime& prime = primes_[part];
            const std::size_t at = part * degree_;
            // Cosine, sine and the opposite of the sine; then what was received and expanded, both parts of each.
            std::uint64_t *plain = room, *received = room + 3 * degree_, *expanded = received + 2 * degree_;
            std::uint64_t *secret = expanded + 2 * degree_, *opposite = secret + degree_, *answer = opposite + degree_;
            for (std::size_t k = 0; k < 2; ++k) {
                const std::uint64_t* lefts[kWeights];
                for (std::size_t j = 0; j < kWeights; ++j) lefts[j] = weights + (k * kWeights + j) * degree_;
                core_.linear(prime, plain + k * degree_, lefts, slot_rests_[part].data(), kWeights, nullptr, 0);
                core_.forward(prime, plain + k * degree_);
                refused |= core_.unpack(prime, received + k * degree_,
                                        packed + (places[k] * parts + part) * packed_bytes());
                uniform_part(keys.uniform, keys.first * terms + places[k], part, expanded + k * degree_);
            }
            std::memset(answer, 0, 8 * degree_);
            core_.subtract(prime, plain + 2 * degree_, answer, plain + degree_);
            const std::uint64_t* factors[2][2] = {{plain, plain + 2 * degree_}, {plain + degree_, plain}};
            const std::uint64_t *c0[2] = {received, received + degree_}, *c1[2] = {expanded, expanded + degree_};
            for (std::size_t k = 0; k < 2; ++k) {
                std::uint64_t* mine = own + k * all + at;
                std::memset(mine, 0, 8 * degree_);
                std::memset(opposite, 0, 8 * degree_);
                core_.dot(prime, mine, c0, factors[k], 2);
                core_.dot(prime, opposite, c1, factors[k], 2);
                transform_small(small + 2 * k * degree_, part, secret);
                const std::uint64_t *b = keys.b + at, *a = key.data() + at, *u = secret;
                core_.dot(prime, mine, &b, &u, 1);
                transform_small(small + (2 * k + 1) * degree_, part, answer);
                core_.dot(prime, answer, &a, &u, 1);
                core_.subtract(prime, answer, answer, opposite);
                core_.pack(prime, sent + (places[k] * parts + part) * packed_bytes(), answer);
            }
        }
        for (std::size_t k = 0; k < 2; ++k) slot_shares(own + k * all, shares + 2 * places[k] * degree_);
    });
    return refused >> 63 == 0;
}

template bool Lattice::reply_slots(const ReplyKeys&, const std::uint8_t*, std::size_t, std::size_t, const std::int32_t*,
                                   std::uint8_t*, std::uint64_t*, unsigned) const;
template bool Lattice::reply_slots(const ReplyKeys&, const std::uint8_t*, std::size_t, std::size_t, const std::uint64_t*,
                                   std::uint8_t*, std::uint64_t*, unsigned) const;
template bool Lattice::reply_turns(const ReplyKeys&, const std::uint8_t*, std::size_t, std::size_t, const std::int32_t*,
                                   std::uint8_t*, std::uint64_t*, unsigned) const;
template bool Lattice::reply_turns(const ReplyKeys&, const std::uint8_t*, std::size_t, std::size_t, const std::uint64_t*,
                                   std::uint8_t*, std::uint64_t*, unsigned) const;

// From a polynomial modulo q, transformed, to the slots of round(t x / q) modulo t.
void Lattice::slot_shares(std::uint64_t* value, std::uint64_t* shares) const {
    inverse_for_fractions(value);
    const Room slots(kSlotPrimes * degree_);
    core_.slot_rounded(slot_tables_, slots.data(), value);
    for (std::size_t j = 0; j < kSlotPrimes; ++j) {
        core_.forward(slot_primes_[j], slots.data() + j * degree_);
        core_.scale(slot_primes_[j], slots.data() + j * degree_, slots.data() + j * degree_, slot_inverses_[j]);
    }
    core_.slot_pairs(slot_tables_, shares, slots.data());
}

bool Lattice::open_slots(const std::uint64_t* secret, const std::uint8_t* packed, std::size_t count,
                         std::uint64_t* shares, unsigned threads) const {
    std::atomic<bool> is_refused{false};
    for_each_item(threads, count, 2 * words(), [&](std::uint64_t* value, std::size_t index) {
        if (!unpack(packed + index * primes() * packed_bytes(), value)) {
            is_refused = true;
            return;
        }
        std::uint64_t* product = value + words();
        std::memset(product, 0, 8 * words());
        for (std::size_t part = 0; part < primes(); ++part) {
            const std::uint64_t *left = value + part * degree_, *right = secret + part * degree_;
            core_.dot(primes_[part], product + part * degree_, &left, &right, 1);
        }
        slot_shares(product, shares + 2 * index * degree_);
    });
    return !is_refused;
}

// The exact product of a reply and the secret: its size is below a quarter of the primes' product, so that the last
// digit in mixed radix shows its sign.
void Lattice::open(const std::uint64_t* secret, const std::uint8_t* packed, std::size_t replies, unsigned reply_bits,
                   unsigned share_bits, const Places& answers, std::uint64_t* shares, unsigned threads) const {
    unsigned degree_bits = 0;
    while (std::size_t{1} << degree_bits < degree_) ++degree_bits;
    // Each prime has more than 49.9 bits.
    const std::size_t parts = (10 * (reply_bits + degree_bits + 1) + 498) / 499;
    const unsigned dropped = reply_bits - share_bits;
    const Wide half = static_cast<Wide>(1) << (dropped - 1);
    const Wide mask = share_bits == 128 ? ~static_cast<Wide>(0) : (static_cast<Wide>(1) << share_bits) - 1;
    for_each_item(threads, replies, (5 + parts) * degree_, [&](std::uint64_t* chunks, std::size_t index) {
        std::uint64_t *values = chunks + 4 * degree_, *plain = values + parts * degree_;
        const std::uint8_t* from = packed + index * degree_ * (reply_bits / 8);
        for (std::size_t i = 0; i < degree_; ++i, from += reply_bits / 8) {
            Wide value = 0;
            std::memcpy(&value, from, reply_bits / 8);
            chunks[i] = static_cast<std::uint64_t>(value) & kLow50;
            chunks[degree_ + i] = static_cast<std::uint64_t>(value >> 50) & kLow50;
            chunks[2 * degree_ + i] = static_cast<std::uint64_t>(value >> 100);
            chunks[3 * degree_ + i] = static_cast<std::uint64_t>(value >> (reply_bits - 1));
        }
        const std::uint64_t* lefts[4];
        for (int k = 0; k < 4; ++k) lefts[k] = chunks + k * degree_;
        for (std::size_t part = 0; part < parts; ++part) {
            const LatticePrime& prime = primes_[part];
            const std::uint64_t p = prime.value;
            const std::uint64_t factors[4] = {1, power_mod(2, 50, p), power_mod(2, 100, p),
                                              negate_mod(power_mod(2, reply_bits, p), p)};
            std::uint64_t* at = values + part * degree_;
            core_.linear(prime, plain, lefts, factors, 4, nullptr, 0);
            core_.forward(prime, plain);
            const std::uint64_t *left = plain, *right = secret + part * degree_;
            std::memset(at, 0, 8 * degree_);
            core_.dot(prime, at, &left, &right, 1);
            inverse(part, at);
        }
        for (std::size_t k = 0; k < answers.size(); ++k) {
            const std::size_t i = answers[k];
            Wide value = 0, weight = 1;
            std::uint64_t digits[kMostPrimes];
            for (std::size_t part = 0; part < parts; ++part) {
                const std::uint64_t p = primes_[part].value;
                std::uint64_t digit = values[part * degree_ + i];
                for (std::size_t lower = 0; lower < part; ++lower) {
                    const std::uint64_t less = digit + p - reduce_once(digits[lower], p);
                    digit = reduce_once(times(less, mixed_[part][lower], p), p);
                }
                digits[part] = digit;
                value += weight * digit;
                weight *= p;
            }
            const std::uint64_t is_negative = (primes_[parts - 1].value / 2 - digits[parts - 1]) >> 63;
            value -= weight & (0 - static_cast<Wide>(is_negative));
            // Signed: what is above bit 127 of the shifted number is cut off by the mask.
            const Wide rounded = static_cast<Wide>(static_cast<__int128>(value + half) >> dropped);
            store_pair(shares + 2 * (index * answers.size() + k), rounded & mask);
        }
    });
}

void Lattice::high_bits(const std::uint64_t* value, unsigned dropped, std::uint8_t* out) const {
    Words64 values(value, value + words());
    for (std::size_t part = 0; part < primes(); ++part) inverse(part, values.data() + part * degree_);
    for (std::size_t i = 0; i < degree_; ++i) {
        std::uint64_t digits[kMostPrimes];
        for (std::size_t part = 0; part < primes(); ++part) {
            const std::uint64_t p = primes_[part].value;
            std::uint64_t digit = values[part * degree_ + i];
            for (std::size_t k = 0; k < part; ++k) {
                const std::uint64_t less = digit + p - reduce_once(digits[k], p);
                digit = reduce_once(times(less, mixed_[part][k], p), p);
            }
            digits[part] = digit;
        }
        // Horner, from the last digit: number = number * p + digit.
        std::uint64_t number[6] = {};
        for (std::size_t part = primes(); part-- > 0;) {
            Wide carry = digits[part];
            for (int limb = 0; limb < 5; ++limb) {
                carry += static_cast<Wide>(number[limb]) * primes_[part].value;
                number[limb] = static_cast<std::uint64_t>(carry);
                carry >>= 64;
            }
        }
        std::uint64_t shifted[5];
        for (int limb = 0; limb < 5; ++limb) shifted[limb] = number[limb] >> dropped | number[limb + 1] << (64 - dropped);
        std::memcpy(out + kHighBytes * i, shifted, kHighBytes);
    }
}

// Sines.

void all_waves(const LatticeCore& core, const std::vector<Wave>& waves, const std::uint32_t* angles, std::size_t count,
               std::int32_t* out, unsigned threads) {
    constexpr std::size_t kAngles = 16384;
    const std::size_t pieces = (count + kAngles - 1) / kAngles;
    for_each_item(threads, pieces * waves.size(), 0, [&](std::uint64_t*, std::size_t item) {
        const std::size_t wave = item / pieces, first = item % pieces * kAngles;
        core.waves(waves[wave], out + wave * count + first, angles + first, std::min(kAngles, count - first));
    });
}

// Own products.

void multiply_rows(const std::int32_t* entries, std::size_t rows, std::size_t columns, const std::uint64_t* share,
                   std::uint64_t* out, unsigned threads) {
    for_each_item(threads, (rows + kRows - 1) / kRows, 0, [&](std::uint64_t*, std::size_t piece) {
        for (std::size_t row = piece * kRows; row < std::min(rows, (piece + 1) * kRows); ++row) {
            std::uint64_t sum = 0;
            for (std::size_t column = 0; column < columns; ++column) {
                sum += static_cast<std::uint64_t>(std::int64_t{entries[row * columns + column]}) * share[2 * column];
            }
            out[row] = sum;
        }
    });
}

void add_up_rows(const std::int32_t* entries, std::size_t rows, std::size_t columns, const std::uint64_t* share,
                 std::uint64_t* out, unsigned threads) {
    const std::size_t pieces = (rows + kRows - 1) / kRows;
    std::vector<Wide> sums(std::max<std::size_t>(1, pieces) * columns);
    for_each_item(threads, pieces, 0, [&](std::uint64_t*, std::size_t piece) {
        Wide* own = sums.data() + piece * columns;
        for (std::size_t row = piece * kRows; row < std::min(rows, (piece + 1) * kRows); ++row) {
            const Wide value = static_cast<Wide>(share[2 * row + 1]) << 64 | share[2 * row];
            for (std::size_t column = 0; column < columns; ++column) {
                // Modulo 2^128, a negative entry is its complement.
                own[column] += value * static_cast<Wide>(static_cast<__int128>(entries[row * columns + column]));
            }
        }
    });
    for (std::size_t column = 0; column < columns; ++column) {
        Wide sum = 0;
        for (std::size_t piece = 0; piece < pieces; ++piece) sum += sums[piece * columns + column];
        store_pair(out + 2 * column, sum);
    }
}

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t kPage = 4096, kWorthwhile = std::uintptr_t{1} << 22;
    if (size < kWorthwhile) return;
    const std::uintptr_t start = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(memory) + size) / kPage * kPage;
    // Only advice: where it is not taken, everything works as before.
    static_cast<void>(madvise(reinterpret_cast<void*>(start), end - start, MADV_HUGEPAGE));
#endif
}

}  // namespace plumbob
