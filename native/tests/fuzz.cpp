// The kernel's parsers on any bytes, for libFuzzer: PARSER=NAME fuzz CORPUS. What a peer sends is refused exactly where a
// residue is not below its prime or bytes encode no point, and every instruction set answers alike. tests/fuzz/kernel.py
// compiles and runs this, with the address and undefined-behaviour sanitizers.
//
// The field of AVX-512 is left out: clang takes too long to compile it with these sanitizers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../lattice.h"
#include "../ristretto.h"
#include "roots.h"

namespace plumbob {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kDegree = 16;
constexpr unsigned kReplyBits = 96, kShareBits = 64, kDroppedBits = 26;

void require(bool condition, const char* message) {
    if (condition) return;
    std::fprintf(stderr, "fuzz: %s\n", message);
    std::abort();
}

std::vector<const LatticeCore*> lattice_cores() {
    std::vector<const LatticeCore*> found = {&portable_lattice_core};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&avx2_lattice_core);
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi"))
        found.push_back(&avx512ifma_lattice_core);
#endif
    return found;
}

std::vector<const EdwardsCore*> edwards_cores() {
    std::vector<const EdwardsCore*> found = {&portable_edwards_core};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) found.push_back(&avx2_edwards_core);
#endif
    return found;
}

StreamKey key_of(std::uint32_t number) {
    StreamKey key;
    for (auto& word : key.words) word = number++ * 2654435761U;
    return key;
}

// As many bytes as a message has, at an address of their own: the module has checked the length, and reading on is an error.
Bytes exactly(const std::uint8_t* data, std::size_t size, std::size_t wanted) {
    Bytes bytes(data, data + std::min(size, wanted));
    bytes.resize(wanted);
    return bytes;
}

// Whether 50 bits each are below the primes, in another way than the kernel's.
bool are_below(const Bytes& packed, const Words64& primes) {
    for (std::size_t place = 0; place < packed.size() * 8 / kPrimeBits; ++place) {
        std::uint64_t value = 0;
        for (unsigned bit = 0; bit < kPrimeBits; ++bit) {
            const std::size_t at = place * kPrimeBits + bit;
            value |= static_cast<std::uint64_t>(packed[at / 8] >> at % 8 & 1) << bit;
        }
        if (value >= primes[place / kDegree % primes.size()]) return false;
    }
    return true;
}

// What an instruction set made of a message.
struct Outcome {
    bool is_taken;
    Bytes sent;
    Words64 numbers;

    bool operator==(const Outcome& other) const {
        return is_taken == other.is_taken && (!is_taken || (sent == other.sent && numbers == other.numbers));
    }
};

struct Fixture {
    Lattice plain, slots;
    Words64 plain_secret, slot_secret, matrix;
    std::vector<std::int32_t> values;

    explicit Fixture(const LatticeCore& core)
        : plain(core, kDegree, kPlainPrimes, roots_of(kPlainPrimes, kDegree), {}, {}),
          slots(core, kDegree, kAllPrimes, roots_of(kAllPrimes, kDegree), kSlotModuli, roots_of(kSlotModuli, kDegree)),
          plain_secret(plain.words()), slot_secret(slots.words()), matrix(2 * plain.words()), values(2 * kDegree) {
        plain.ternary(key_of(1), 0, plain_secret.data());
        slots.ternary(key_of(2), 0, slot_secret.data());
        for (std::uint64_t index = 0; index < 2; ++index) plain.errors(key_of(3), index, matrix.data() + index * plain.words());
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<std::int32_t>(k * 77777) - 1000000;
    }

    Lattice::ReplyKeys keys(const Words64& b) const { return {key_of(4), b.data(), key_of(5), key_of(6), key_of(7), 0}; }
};

const std::vector<std::unique_ptr<Fixture>>& fixtures() {
    static const std::vector<std::unique_ptr<Fixture>> made = [] {
        std::vector<std::unique_ptr<Fixture>> each;
        for (const LatticeCore* core : lattice_cores()) each.push_back(std::make_unique<Fixture>(*core));
        return each;
    }();
    return made;
}

// Every instruction set on the same bytes; what is refused must be what has to be.
template <class Parse>
void compare_lattices(Parse parse, bool is_right) {
    const Outcome expected = parse(*fixtures()[0]);
    require(expected.is_taken == is_right, is_right ? "an honest message was refused" : "a residue above its prime was taken in");
    for (const auto& fixture : fixtures()) require(parse(*fixture) == expected, "instruction sets differ");
}

void request(const std::uint8_t* data, std::size_t size) {
    const Bytes packed = exactly(data, size, 2 * kPlainPrimes.size() * kDegree * kPrimeBits / 8);
    const Lattice::Places answers = {0, 3, 15};
    compare_lattices(
        [&](const Fixture& f) {
            Outcome out{false, Bytes(kDegree * kReplyBits / 8), Words64(2 * answers.size() + 2 * f.plain.words())};
            out.is_taken = f.plain.reply(f.keys(f.plain_secret), packed.data(), 2, f.matrix.data(), 1, nullptr, kReplyBits,
                                         kShareBits, answers, out.sent.data(), out.numbers.data(), 1);
            const bool is_summed = f.plain.add_up(key_of(4), 0, packed.data(), 2, f.matrix.data(), 1,
                                                  out.numbers.data() + 2 * answers.size(), 1);
            require(is_summed == out.is_taken, "a request was taken in once and refused once");
            return out;
        },
        are_below(packed, kPlainPrimes));
}

void slot_request(const std::uint8_t* data, std::size_t size) {
    const Bytes packed = exactly(data, size, 2 * kAllPrimes.size() * kDegree * kPrimeBits / 8);
    const std::size_t one = packed.size() / 2;
    compare_lattices(
        [&](const Fixture& f) {
            Outcome out{false, Bytes(3 * one), Words64(3 * 2 * kDegree)};
            out.is_taken = f.slots.reply_slots(f.keys(f.slot_secret), packed.data(), 1, 2, f.values.data(), out.sent.data(),
                                               out.numbers.data(), 1);
            const bool is_turned = f.slots.reply_turns(f.keys(f.slot_secret), packed.data(), 1, 1, f.values.data(),
                                                       out.sent.data() + one, out.numbers.data() + 2 * kDegree, 1);
            require(is_turned == out.is_taken, "a request was taken in once and refused once");
            return out;
        },
        are_below(packed, kAllPrimes));
}

void reply(const std::uint8_t* data, std::size_t size) {
    const Bytes packed = exactly(data, size, kDegree * kReplyBits / 8);
    const Lattice::Places answers = {0, 3, 15};
    compare_lattices(
        [&](const Fixture& f) {
            Outcome out{true, {}, Words64(2 * answers.size())};
            f.plain.open(f.plain_secret.data(), packed.data(), 1, kReplyBits, kShareBits, answers, out.numbers.data(), 1);
            for (std::size_t k = 1; k < out.numbers.size(); k += 2) require(out.numbers[k] == 0, "a share outside its ring");
            return out;
        },
        true);
}

void slot_reply(const std::uint8_t* data, std::size_t size) {
    const Bytes packed = exactly(data, size, kAllPrimes.size() * kDegree * kPrimeBits / 8);
    const unsigned __int128 modulus = static_cast<unsigned __int128>(kSlotModuli[0]) * kSlotModuli[1] * kSlotModuli[2];
    compare_lattices(
        [&](const Fixture& f) {
            Outcome out{false, {}, Words64(2 * kDegree)};
            out.is_taken = f.slots.open_slots(f.slot_secret.data(), packed.data(), 1, out.numbers.data(), 1);
            for (std::size_t k = 0; out.is_taken && k < kDegree; ++k) {
                const auto share = static_cast<unsigned __int128>(out.numbers[2 * k + 1]) << 64 | out.numbers[2 * k];
                require(share < modulus, "a share outside its ring");
            }
            return out;
        },
        are_below(packed, kAllPrimes));
}

// The key test: what is read writes the same bytes again, and its decryption has its high bits.
void challenge(const std::uint8_t* data, std::size_t size) {
    const Bytes packed = exactly(data, size, 2 * kPlainPrimes.size() * kDegree * kPrimeBits / 8);
    const std::size_t one = packed.size() / 2;
    compare_lattices(
        [&](const Fixture& f) {
            Outcome out{false, Bytes(packed.size() + 40 * kDegree), Words64(3 * f.plain.words())};
            std::uint64_t *first = out.numbers.data(), *second = first + f.plain.words(), *sum = second + f.plain.words();
            const bool is_first = f.plain.unpack(packed.data(), first), is_second = f.plain.unpack(packed.data() + one, second);
            out.is_taken = is_first && is_second;
            if (!out.is_taken) return out;
            f.plain.pack(first, out.sent.data());
            f.plain.pack(second, out.sent.data() + one);
            require(std::equal(packed.begin(), packed.end(), out.sent.begin()), "a challenge that is written otherwise");
            f.plain.combine(first, second, f.plain_secret.data(), sum);
            f.plain.high_bits(sum, kDroppedBits, out.sent.data() + packed.size());
            return out;
        },
        are_below(packed, kPlainPrimes));
}

// Pairs of points, each in 32 bytes. What is taken in is multiplied, added and combined; each result is a point again.
void points(const std::uint8_t* data, std::size_t size) {
    const std::size_t count = std::clamp<std::size_t>(size / (2 * kPointBytes), 1, 5);  // more than a vector has
    const Bytes all = exactly(data, size, 2 * count * kPointBytes);
    std::uint8_t half[32] = {0xc5, 0x12, 0x77, 9, 8, 7};
    Bytes factors(count * kFactorBytes, 0xa7);
    const SecretScalar scalar(half);
    std::vector<Bytes> outcomes;
    for (const EdwardsCore* core : edwards_cores()) {
        Bytes multiplied(count * kPointBytes), sums(count * kPointBytes), again(count * kPointBytes), joined(kPointBytes);
        const std::uint8_t *left = all.data(), *right = left + count * kPointBytes;
        const std::size_t refused = multiply_points(*core, multiplied.data(), left, count, scalar, 1);
        Buckets buckets(*core);
        require(buckets.combine(left, factors.data(), count, 1) == refused, "a point was taken in once and refused once");
        require(buckets.join(joined.data()) == (refused == kNoneRefused), "a sum with a refused point");
        const std::size_t unequal = add_points(*core, sums.data(), left, right, count, 1);
        Bytes outcome;
        auto add = [&](std::size_t place, const Bytes& bytes) {
            for (int k = 0; k < 8; ++k) outcome.push_back(static_cast<std::uint8_t>(place >> 8 * k));
            if (place == kNoneRefused) outcome.insert(outcome.end(), bytes.begin(), bytes.end());
        };
        add(refused, multiplied), add(refused, joined), add(unequal, sums);
        if (refused == kNoneRefused) {
            require(multiply_points(*core, again.data(), multiplied.data(), count, scalar, 1) == kNoneRefused,
                    "a product that is no point");
            add(kNoneRefused, again);
        }
        outcomes.push_back(outcome);
    }
    for (const Bytes& outcome : outcomes) require(outcome == outcomes[0], "instruction sets differ");
}

using Parser = void (*)(const std::uint8_t*, std::size_t);

Parser parser_named(const std::string& name) {
    if (name == "request") return request;
    if (name == "slot-request") return slot_request;
    if (name == "reply") return reply;
    if (name == "slot-reply") return slot_reply;
    if (name == "challenge") return challenge;
    if (name == "points") return points;
    require(false, "PARSER is none of request, slot-request, reply, slot-reply, challenge, points");
    return nullptr;
}

}  // namespace
}  // namespace plumbob

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const char* name = std::getenv("PARSER");
    static const plumbob::Parser parser = plumbob::parser_named(name == nullptr ? "" : name);
    parser(data, size);
    return 0;
}
