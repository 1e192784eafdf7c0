// Whether time depends on a secret scalar: run this under valgrind, which then tells of every branch and every address that
// depends on a bit it was told to call undefined.
//
//   secret_scalars portable|avx2            multiplies with an undefined scalar: no error may be reported
//   secret_scalars portable|avx2 leaking    branches on a digit at the end: exactly that must be reported
//
// valgrind knows no AVX-512. That engine has the same source (edwards.h), and the same masks. tools/secret_scalars.py
// compiles and runs this.
#include <valgrind/memcheck.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "../ring.h"
#include "../ristretto_scalar.h"

namespace plumbob {

// Of ring.cpp, which is not linked here.
Words::~Words() { operator delete[](data_, std::align_val_t{64}); }

namespace {

constexpr std::size_t kCount = 9;  // more than a vector, and not a whole number of them

int run(const EdwardsCore& core, bool is_leaking) {
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
    if (is_leaking && digits[5] > 0) std::puts("a branch that depends on a secret");
    VALGRIND_MAKE_MEM_DEFINED(out.data(), out.size());
    unsigned sum = 0;
    for (std::uint8_t byte : out) sum += byte;
    std::printf("%u\n", sum);
    return is_valid == 1 && refused == kNoneRefused && refused_too == kNoneRefused ? 0 : 2;
}

}  // namespace
}  // namespace plumbob

int main(int count, char** words) {
    using namespace plumbob;
    const bool is_leaking = count > 2 && std::strcmp(words[2], "leaking") == 0;
#if defined(__x86_64__)
    if (count > 1 && std::strcmp(words[1], "avx2") == 0) return run(avx2_edwards_core, is_leaking);
#endif
    return run(portable_edwards_core, is_leaking);
}
