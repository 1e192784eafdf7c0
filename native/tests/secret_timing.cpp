// Whether time depends on a secret: run this under valgrind, which then tells of every branch and every address that depends
// on a bit it was told to call undefined.
//
//   secret_timing curve|lattice portable|avx2             works with undefined secrets: no error may be reported
//   secret_timing curve|lattice portable|avx2 branch      branches on a secret at the end: exactly that must be reported
//   secret_timing curve|lattice portable|avx2 address     looks a secret up at the end: exactly that must be reported
//
// What may be known of a secret is said by make_public in lattice.cpp, and here for what is sent. valgrind knows no AVX-512:
// the curve's core has the same source there, the lattice's has not. tools/secret_timing.py compiles and runs this.
#include <valgrind/memcheck.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../words.h"
#include "../ristretto_scalar.h"
#include "roots.h"

namespace plumbob {

namespace {

template <class Value>
void make_secret(std::vector<Value>& values) {
    VALGRIND_MAKE_MEM_UNDEFINED(values.data(), values.size() * sizeof(Value));
}

template <class Value>
std::vector<Value> secrets(std::size_t count, Value step) {
    std::vector<Value> made(count);
    for (std::size_t k = 0; k < count; ++k) made[k] = static_cast<Value>(static_cast<Value>(k) * step + 5);
    make_secret(made);
    return made;
}

StreamKey stream_key(std::uint32_t number) {
    StreamKey key;
    for (auto& word : key.words) word = number++ * 2654435761U;
    return key;
}

StreamKey secret_key(std::uint32_t number) {
    StreamKey key = stream_key(number);
    VALGRIND_MAKE_MEM_UNDEFINED(&key, sizeof key);
    return key;
}

// What a compiler could make of an honest line of code: the tool must see it.
void leak(const std::string& how, std::uint64_t secret) {
    static const char table[] = "a look-up that depends on a secret";
    if (how == "branch" && (secret & 3) > 1) std::puts("a branch that depends on a secret");
    if (how == "address") {
        char found = table[secret & 15];
        VALGRIND_MAKE_MEM_DEFINED(&found, sizeof found);
        std::putchar(found);
    }
}

// Sent to a peer: from here on anybody may know it. That all of it is there is seen on the way.
template <class Value>
void send(std::vector<Value>& values) {
    VALGRIND_MAKE_MEM_DEFINED(values.data(), values.size() * sizeof(Value));
    unsigned sum = 0;
    for (Value value : values) sum += static_cast<unsigned>(value);
    std::printf("%u ", sum);
}

constexpr std::size_t kCount = 9;  // more than a vector, and not a whole number of them

bool run_curve(const EdwardsCore& core, const std::string& how) {
    std::uint64_t scalar[4] = {0x0123456789abcdef, 0xfedcba9876543210, 0x0f1e2d3c4b5a6978, 0x0a1b2c3d4e5f6071};
    std::vector<std::uint8_t> uniform(kCount * kUniformBytes), points(kCount * kPointBytes), out(points.size());
    for (std::size_t i = 0; i < uniform.size(); ++i) uniform[i] = static_cast<std::uint8_t>(i * 151 + 7);
    Words room(core.room_words);
    core.multiply_mapped(points.data(), uniform.data(), kCount, nullptr, room.data());

    VALGRIND_MAKE_MEM_UNDEFINED(scalar, sizeof scalar);
    ScalarDigits digits;
    std::uint64_t is_valid = is_scalar(scalar);
    VALGRIND_MAKE_MEM_DEFINED(&is_valid, sizeof is_valid);  // This much is said aloud.
    split_half(scalar, digits);
    const std::size_t refused = core.multiply(out.data(), points.data(), kCount, digits, room.data());
    const std::size_t refused_too = core.multiply_mapped(out.data(), uniform.data(), kCount, &digits, room.data());
    leak(how, static_cast<std::uint64_t>(digits[5]));
    send(out);
    return is_valid == 1 && refused == kNoneRefused && refused_too == kNoneRefused;
}

constexpr std::size_t kDegree = 512;  // two pieces of the loops that go piece by piece
constexpr unsigned kReplyBits = 96, kShareBits = 64, kDroppedBits = 26;
constexpr std::uint64_t kRefusing = 427909;  // the first place in stream 6 at which a word is refused

// A pair of parties: what the owner of a key and its evaluator do with secrets, in the order of a product.
class Products {
public:
    explicit Products(const LatticeCore& core)
        : core_(core), plain_(core, kDegree, kPlainPrimes, roots_of(kPlainPrimes, kDegree), {}, {}),
          slots_(core, kDegree, kAllPrimes, roots_of(kAllPrimes, kDegree), kSlotModuli, roots_of(kSlotModuli, kDegree)) {}

    bool run(const std::string& how) {
        const bool is_right = test_key() && multiply() && multiply_slots();
        multiply_own();
        leak(how, opened_);  // After all the arithmetic: what came of a secret still counts as one.
        return is_right;
    }

private:
    Words64 secret_of(const Lattice& lattice) const {
        Words64 secret(lattice.words());
        lattice.ternary(secret_key(1), 0, secret.data());
        return secret;
    }

    // b = e - a s, sent; a comes from a public stream.
    Words64 public_key(const Lattice& lattice, const Words64& secret) const {
        Words64 errors(lattice.words()), a(lattice.words()), b(lattice.words());
        std::vector<std::uint8_t> packed(lattice.primes() * lattice.packed_bytes());
        lattice.errors(secret_key(2), 0, errors.data());
        lattice.uniform(stream_key(3), 0, a.data());
        lattice.combine(errors.data(), a.data(), secret.data(), b.data());
        lattice.pack(b.data(), packed.data());
        send(packed);
        return lattice.unpack(packed.data(), b.data()) ? b : Words64();
    }

    // The evaluator's sigma is secret while it sends its challenge, the owner's key always.
    bool test_key() {
        const std::size_t words = plain_.words();
        const Words64 secret = secret_of(plain_), b = public_key(plain_, secret), ones(words, 1);
        if (b.empty()) return false;
        Words64 u(words), errors(words), rho(words), hidden(words), a(words), x0(words), x1(words), decrypted(words);
        plain_.ternary(secret_key(4), 0, u.data());
        plain_.errors(secret_key(5), 0, errors.data());
        plain_.uniform(secret_key(6), kRefusing, rho.data());
        plain_.uniform(stream_key(3), 0, a.data());
        plain_.combine(errors.data(), rho.data(), ones.data(), hidden.data());
        plain_.combine(hidden.data(), b.data(), u.data(), x0.data());
        plain_.combine(errors.data(), a.data(), u.data(), x1.data());
        std::vector<std::uint8_t> challenge(2 * plain_.primes() * plain_.packed_bytes()), high(40 * kDegree);
        plain_.pack(x0.data(), challenge.data());
        plain_.pack(x1.data(), challenge.data() + challenge.size() / 2);
        send(challenge);
        const bool is_first = plain_.unpack(challenge.data(), x0.data());
        const bool is_second = plain_.unpack(challenge.data() + challenge.size() / 2, x1.data());
        plain_.combine(x0.data(), x1.data(), secret.data(), decrypted.data());
        plain_.high_bits(decrypted.data(), kDroppedBits, high.data());
        send(high);  // Hashed, then sent.
        return is_first && is_second;
    }

    Lattice::ReplyKeys reply_keys(const Words64& b) const {
        return {stream_key(7), b.data(), stream_key(3), secret_key(8), secret_key(9), 0};
    }

    // A request of a vector, its product with a matrix at once and in parts, and both openings.
    bool multiply() {
        const Words64 secret = secret_of(plain_), b = public_key(plain_, secret);
        const Words64 messages = secrets<std::uint64_t>(2 * 2 * kDegree, 0x9e3779b97f4a7c15);
        const std::vector<std::int32_t> entries = secrets<std::int32_t>(2 * kDegree, 77777);
        std::vector<std::uint8_t> request(2 * plain_.primes() * plain_.packed_bytes()), sent(kDegree * kReplyBits / 8);
        Words64 matrix(2 * plain_.words()), sums(2 * plain_.words()), shares(2 * 3);
        const Lattice::Places answers = {0, 3, kDegree - 1};
        plain_.encrypt({secret.data(), stream_key(7), secret_key(10), 0}, 2, messages.data(), 128, request.data(), 1);
        send(request);
        plain_.transform_all(entries.data(), 2, matrix.data(), 1);
        bool is_right = plain_.add_up(stream_key(7), 0, request.data(), 2, matrix.data(), 1, sums.data(), 1);
        const std::uint64_t* const all_sums[2] = {nullptr, sums.data()};
        for (const std::uint64_t* added : all_sums) {
            const std::size_t requests = added == nullptr ? 2 : 0;
            is_right &= plain_.reply(reply_keys(b), request.data(), requests, matrix.data(), 1, added, kReplyBits, kShareBits,
                                     answers, sent.data(), shares.data(), 1);
            send(sent);
            plain_.open(secret.data(), sent.data(), 1, kReplyBits, kShareBits, answers, shares.data(), 1);
        }
        opened_ = shares[0];
        return is_right;
    }

    // Small numbers and numbers below t, added up and turned.
    bool multiply_slots() {
        const Words64 secret = secret_of(slots_), b = public_key(slots_, secret);
        const std::vector<std::int32_t> small = secrets<std::int32_t>(2 * kDegree, 12345);
        Words64 wide = secrets<std::uint64_t>(2 * 2 * kDegree, 0x12345678);
        return multiply_values(secret, b, small.data()) && multiply_values(secret, b, wide.data());
    }

    template <class Value>
    bool multiply_values(const Words64& secret, const Words64& b, const Value* values) {
        const std::size_t bytes = slots_.primes() * slots_.packed_bytes();
        std::vector<std::uint8_t> request(2 * bytes), sent(2 * bytes);
        Words64 shares(2 * 2 * kDegree);
        slots_.encrypt_slots({secret.data(), stream_key(7), secret_key(11), 0}, 2, values, request.data(), 1);
        send(request);
        bool is_right = slots_.reply_slots(reply_keys(b), request.data(), 1, 2, values, sent.data(), shares.data(), 1);
        VALGRIND_MAKE_MEM_DEFINED(sent.data(), bytes);
        is_right &= slots_.open_slots(secret.data(), sent.data(), 1, shares.data(), 1);
        is_right &= slots_.reply_turns(reply_keys(b), request.data(), 1, 1, values, sent.data(), shares.data(), 1);
        send(sent);
        return is_right && slots_.open_slots(secret.data(), sent.data(), 2, shares.data(), 1);
    }

    // Sines, and a party's products with its own share.
    void multiply_own() const {
        const std::vector<std::uint32_t> angles = secrets<std::uint32_t>(kDegree, 2654435761U);
        const std::vector<std::int32_t> entries = secrets<std::int32_t>(9 * 5, 54321);
        const Words64 columns = secrets<std::uint64_t>(2 * 5, 0xabcdef), rows = secrets<std::uint64_t>(2 * 9, 0xfedcba);
        std::vector<std::int32_t> sines(kDegree);
        Words64 scores(9), sums(2 * 5);
        all_waves(core_, {{3, 1U << 30, 1 << 20, 40}}, angles.data(), kDegree, sines.data(), 1);
        multiply_rows(entries.data(), 9, 5, columns.data(), scores.data(), 1);
        add_up_rows(entries.data(), 9, 5, rows.data(), sums.data(), 1);
        send(sines), send(scores), send(sums);
    }

    const LatticeCore& core_;
    Lattice plain_, slots_;
    std::uint64_t opened_ = 0;
};

}  // namespace
}  // namespace plumbob

int main(int count, char** words) {
    using namespace plumbob;
    if (count < 3) return 2;
    const std::string what = words[1], path = words[2], how = count > 3 ? words[3] : "";
    const EdwardsCore* curve = &portable_edwards_core;
    const LatticeCore* lattice = &portable_lattice_core;
#if defined(__x86_64__)
    if (path == "avx2") curve = &avx2_edwards_core, lattice = &avx2_lattice_core;
#endif
    return (what == "curve" ? run_curve(*curve, how) : Products(*lattice).run(how)) ? 0 : 2;
}
