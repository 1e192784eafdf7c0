// Whether a secret scalar is gone from memory once a multiplication is over.
//
//   wiped_secrets portable|avx2|avx512ifma            nothing may be found
//   wiped_secrets portable|avx2|avx512ifma planted    what is left on purpose must be found, on the stack and on the heap
//
// A thread whose stack is ours splits a scalar into digits and multiplies, as the Python module does. Afterwards its stack
// is searched for the scalar, for what it is halved by and for its digits; and every block of the heap that was given back must be zero.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../ristretto.h"
#include "../ristretto_scalar.h"

namespace {

std::size_t freed_blocks = 0, unwiped_words = 0;

struct alignas(64) Head {
    std::size_t size;
};

}  // namespace

void* operator new[](std::size_t size, std::align_val_t) {
    auto* head = static_cast<Head*>(std::aligned_alloc(64, (sizeof(Head) + size + 63) / 64 * 64));
    head->size = size;
    return head + 1;
}

void operator delete[](void* data, std::align_val_t) noexcept {
    auto* head = static_cast<Head*>(data) - 1;
    ++freed_blocks;
    for (std::size_t i = 0; i < head->size / 8; ++i) unwiped_words += static_cast<volatile std::uint64_t*>(data)[i] != 0;
    std::free(head);
}

namespace plumbob {
namespace {

constexpr std::size_t kCount = 19;      // more than a vector, and not a whole number of them
constexpr std::size_t kStack = 1 << 20;
constexpr std::size_t kTelling = 8;     // digits, or bytes, in a row that are no chance
constexpr std::uint64_t kScalar[4] = {0x0123456789abcdef, 0xfedcba9876543210, 0x0f1e2d3c4b5a6978, 0x0a1b2c3d4e5f6071};

struct Work {
    const EdwardsCore* core;
    bool is_planted;
    std::vector<std::uint8_t> points, uniform, out;
};

// As in ristretto_module.cpp; the scalar's own bytes are the caller's.
__attribute__((noinline)) void multiply(Work& work, const std::uint8_t* scalar) {
    const SecretScalar secret(scalar);
    multiply_points(*work.core, work.out.data(), work.points.data(), kCount, secret, 1);
    multiply_mapped(*work.core, work.out.data(), work.uniform.data(), kCount, &secret, 1);
    if (!work.is_planted) return;
    volatile std::int8_t left[kScalarDigits];
    for (unsigned i = 0; i < kScalarDigits; ++i) left[i] = secret.digits()[i];
    auto* forgotten = new (std::align_val_t{64}) std::uint64_t[1];
    *static_cast<volatile std::uint64_t*>(forgotten) = kScalar[0];
    operator delete[](forgotten, std::align_val_t{64});
}

const std::uint8_t* scalar_bytes() {
    static std::uint8_t bytes[kScalarBytes];
    std::memcpy(bytes, kScalar, sizeof bytes);
    return bytes;
}

void* run(void* work) {
    multiply(*static_cast<Work*>(work), scalar_bytes());
    return nullptr;
}

// How many pieces of a secret are somewhere in memory.
unsigned pieces_in(const std::vector<std::uint8_t>& memory, const std::uint8_t* secret, std::size_t size) {
    unsigned found = 0;
    for (std::size_t i = 0; i + kTelling <= size; i += kTelling) {
        found += memmem(memory.data(), memory.size(), secret + i, kTelling) != nullptr;
    }
    return found;
}

unsigned left_on_stack(const std::vector<std::uint8_t>& stack) {
    ScalarDigits digits;
    split_half(kScalar, digits);
    // The scalar is odd, so the order is added before it is halved: the words of that sum could be left too.
    std::uint64_t sum[4], carried = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned __int128 each = static_cast<unsigned __int128>(kScalar[i]) + kOrder[i] + carried;
        sum[i] = static_cast<std::uint64_t>(each);
        carried = static_cast<std::uint64_t>(each >> 64);
    }
    const auto bytes = [](const void* data) { return static_cast<const std::uint8_t*>(data); };
    return pieces_in(stack, bytes(digits), sizeof digits) + pieces_in(stack, bytes(kScalar), sizeof kScalar) +
           pieces_in(stack, bytes(sum), sizeof sum);
}

const EdwardsCore* core_named(const std::string& name) {
    if (name == "portable") return &portable_edwards_core;
    if (name == "avx2") return &avx2_edwards_core;
    return name == "avx512ifma" ? &avx512ifma_edwards_core : nullptr;
}

int judge(const std::string& path, bool is_planted) {
    Work work{core_named(path), is_planted, std::vector<std::uint8_t>(kCount * kPointBytes),
              std::vector<std::uint8_t>(kCount * kUniformBytes), std::vector<std::uint8_t>(kCount * kPointBytes)};
    if (work.core == nullptr) return 2;
    for (std::size_t i = 0; i < work.uniform.size(); ++i) work.uniform[i] = static_cast<std::uint8_t>(i * 151 + 7);
    multiply_mapped(*work.core, work.points.data(), work.uniform.data(), kCount, nullptr, 1);
    freed_blocks = unwiped_words = 0;

    std::vector<std::uint8_t> stack(kStack + 64);
    auto* base = stack.data() + (64 - reinterpret_cast<std::uintptr_t>(stack.data()) % 64);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, base, kStack) != 0 || pthread_create(&thread, &attributes, run, &work) != 0) return 2;
    pthread_join(thread, nullptr);
    const unsigned left = left_on_stack(stack);
    std::printf("%u pieces of the secret on the stack, %zu words in %zu blocks of the heap\n", left, unwiped_words,
                freed_blocks);
    return left == 0 && unwiped_words == 0 && freed_blocks != 0 ? 0 : 1;
}

}  // namespace
}  // namespace plumbob

int main(int count, char** words) {
    return count < 2 ? 2 : plumbob::judge(words[1], count > 2);
}
