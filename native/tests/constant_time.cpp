// Times the kernel's secret-dependent work for two kinds of secrets: one that stays, and a new one each time.
//
//     constant_time SAMPLES PRIME ROOT[,...] SLOT_PRIME ROOT[,...] FOLDER
//
// For every path of this machine and every piece of work it writes FOLDER/PATH-WORK: a little-endian word per sample, twice
// the cycles, plus one if the secret was a new one. `test_constant_time.py` builds it, runs it and compares the two kinds.
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../lattice.h"

#if defined(__x86_64__)
#include <x86intrin.h>
static std::uint64_t now() {
    unsigned processor;
    _mm_lfence();
    const std::uint64_t count = __rdtscp(&processor);
    _mm_lfence();
    return count;
}
#else
#include <chrono>
static std::uint64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
#endif

using namespace plumbob;

namespace {

constexpr std::size_t kDegree = 256;
std::uint64_t state = 0x9e3779b97f4a7c15;

// Which secrets are tried need not be secret.
std::uint64_t random_word() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

struct Work {
    std::string name;
    std::function<void(bool is_new)> prepare;
    std::function<void()> run;
};

StreamKey random_key() {
    StreamKey key;
    for (auto& word : key.words) word = static_cast<std::uint32_t>(random_word() >> 16);
    return key;
}

// Whether no byte of a ternary draw is refused: how many are says nothing about those that are kept, but takes time.
bool refuses_nothing(const LatticeCore& core, const StreamKey& key) {
    const std::uint32_t nonce[3] = {0xFFFFFFFF, 0, 0};
    std::uint64_t words[kDegree / 8];
    core.stream(key.words, nonce, 0, words, kDegree / 64);
    for (std::size_t k = 0; k < kDegree; ++k) {
        if ((words[k / 8] >> (8 * (k % 8)) & 255) == 255) return false;
    }
    return true;
}

StreamKey key_without_refusals(const LatticeCore& core) {
    StreamKey key = random_key();
    while (!refuses_nothing(core, key)) key = random_key();
    return key;
}

// What a compiler makes of an honest `if`, where it is not told to avoid it: the test must see this one.
void reduce_with_branches(std::uint64_t* values, std::uint64_t bound) {
    for (std::size_t i = 0; i < kDegree; ++i) {
        if (values[i] >= bound) {
            values[i] -= bound;
            asm volatile("" : "+m"(values[i]));
        }
    }
}

void write_samples(const std::string& folder, const char* path, const Work& work, std::size_t samples) {
    std::vector<std::uint64_t> found(samples);
    for (std::size_t k = 0; k < samples; ++k) {
        const bool is_new = random_word() >> 40 & 1;
        work.prepare(is_new);
        const std::uint64_t start = now();
        work.run();
        found[k] = 2 * (now() - start) + is_new;
    }
    const std::string name = folder + "/" + path + "-" + work.name;
    std::FILE* file = std::fopen(name.c_str(), "wb");
    std::fwrite(found.data(), sizeof found[0], samples, file);
    std::fclose(file);
}

std::vector<Work> all_work(const LatticeCore& core, const Lattice& lattice, const LatticePrime& prime) {
    static std::uint64_t values[kDegree], public_values[kDegree], words[8 * kDegree], shares[2 * kDegree];
    static std::int8_t small[kDegree];
    static std::int32_t numbers[kDegree];
    static std::uint32_t angles[kDegree];
    static std::uint8_t packed[6 * kDegree * 50 / 8], request[6 * kDegree * 50 / 8 + 64];
    static std::uint64_t secret[6 * kDegree];
    static StreamKey key, public_key = random_key();
    static const StreamKey same_key = key_without_refusals(core);
    static const std::uint64_t* rights[1] = {public_values};
    static const std::uint64_t* lefts[3] = {values, values, values};
    static const std::uint64_t factors[3] = {3, 5, 7};
    for (auto& each : public_values) each = random_word() % prime.value;
    std::memset(packed, 0, sizeof packed);
    const Lattice::Places answers = {0, 5, 9, 200};

    // Both kinds are drawn in the same way, and one of them is then written over: what comes before must not differ.
    auto residues = [&](bool is_new) {
        for (auto& each : values) each = random_word() % prime.value & (0 - std::uint64_t{is_new});
    };
    auto smalls = [&](bool is_new) {
        for (auto& each : small) each = static_cast<std::int8_t>((random_word() >> 30) % 3 * is_new - 1);
    };
    auto stream_key = [&](bool is_new) {
        const StreamKey drawn = key_without_refusals(core);
        std::memcpy(&key, is_new ? &drawn : &same_key, sizeof key);
    };
    auto whole_secret = [=, &lattice](bool is_new) {
        stream_key(is_new);
        lattice.ternary(key, 0, secret);
    };
    auto slot_numbers = [&](bool is_new) {
        for (auto& each : numbers) each = static_cast<std::int32_t>((random_word() >> 44) * is_new) - (1 << 19);
    };
    auto wide_numbers = [&](bool is_new) {
        for (auto& each : shares) each = (random_word() >> 24) * is_new;
    };
    auto turns = [&](bool is_new) {
        for (auto& each : angles) each = static_cast<std::uint32_t>(random_word() >> 20) * is_new;
    };
    return {
        {"forward", residues, [&] { core.forward(prime, values); }},
        {"inverse", residues, [&] { core.inverse(prime, values, prime.degree_inverse); }},
        {"dot", residues, [&, left = lefts] { core.dot(prime, words, left, rights, 1); }},
        {"linear", smalls, [&] { core.linear(prime, words, lefts, factors, 3, small, 1); }},
        {"residues", smalls, [&] { core.from_bytes(prime, values, small); }},
        {"pack", residues, [&] { core.pack(prime, packed, values); }},
        {"ternary", stream_key, [&] { lattice.ternary(key, 0, secret); }},
        {"errors", stream_key, [&] { lattice.errors(key, 0, secret); }},
        {"sines", turns,
         [&] { core.waves({3, 1u << 30, 1 << 20, 40}, reinterpret_cast<std::int32_t*>(words), angles, kDegree); }},
        {"encryption", slot_numbers,
         [&] { lattice.encrypt_slots({secret, public_key, same_key, 0}, 1, numbers, request, 1); }},
        {"wide-encryption", wide_numbers,
         [&] { lattice.encrypt_slots({secret, public_key, same_key, 0}, 1, shares, request, 1); }},
        {"opened-slots", whole_secret, [&] { lattice.open_slots(secret, packed, 1, shares, 1); }},
        {"opened-shares", whole_secret, [=, &lattice] { lattice.open(secret, packed, 1, 96, 88, answers, shares, 1); }},
        {"branches", residues, [&] { reduce_with_branches(values, prime.value / 2); }},
    };
}

Words64 numbers_of(const char* text) {
    Words64 found;
    for (const char* at = text; *at != 0;) {
        char* end;
        found.push_back(std::strtoull(at, &end, 10));
        at = *end == ',' ? end + 1 : end;
    }
    return found;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 7) return 2;
    const std::size_t samples = std::strtoull(arguments[1], nullptr, 10);
    const Words64 primes = numbers_of(arguments[2]), roots = numbers_of(arguments[3]);
    const Words64 slot_primes = numbers_of(arguments[4]), slot_roots = numbers_of(arguments[5]);
    std::vector<std::pair<const char*, const LatticeCore*>> paths = {{"portable", &portable_lattice_core}};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) paths.emplace_back("avx2", &avx2_lattice_core);
    if (__builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi"))
        paths.emplace_back("avx512ifma", &avx512ifma_lattice_core);
#endif
    for (const auto& [name, core] : paths) {
        const Lattice lattice(*core, kDegree, primes, roots, slot_primes, slot_roots);
        for (const Work& work : all_work(*core, lattice, lattice.prime(0))) {
            write_samples(arguments[6], name, work, samples / 10);  // Warm caches and branch predictors.
            write_samples(arguments[6], name, work, samples);
        }
    }
    return 0;
}
