// Secret scalars modulo the group's order, split into digits without branches or addresses that depend on them.
#pragma once

#include "edwards_core.h"

namespace plumbob {

constexpr std::size_t kScalarBytes = 32;
constexpr std::uint64_t kOrder[4] = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000};

// 1 if the little-endian number is from 1 to the order - 1, else 0.
inline std::uint64_t is_scalar(const std::uint64_t scalar[4]) {
    std::uint64_t borrowed = 0, any = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned __int128 difference = static_cast<unsigned __int128>(scalar[i]) - kOrder[i] - borrowed;
        borrowed = static_cast<std::uint64_t>(difference >> 64) & 1;
        any |= scalar[i];
    }
    return borrowed & ((any | (0 - any)) >> 63);
}

// The digits of half the scalar modulo the order: the engines encode the double of what they calculate.
inline void split_half(const std::uint64_t scalar[4], ScalarDigits& digits) {
    const std::uint64_t is_odd = 0 - (scalar[0] & 1);
    std::uint64_t sum[5] = {}, carried = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned __int128 each = static_cast<unsigned __int128>(scalar[i]) + (kOrder[i] & is_odd) + carried;
        sum[i] = static_cast<std::uint64_t>(each);
        carried = static_cast<std::uint64_t>(each >> 64);
    }
    sum[4] = carried;
    std::uint64_t carry = 0;
    for (unsigned i = 0; i < kScalarDigits; ++i) {
        const unsigned low = 4 * i + 1;  // halved
        const std::uint64_t window = sum[low / 64] >> low % 64 | (sum[low / 64 + 1] << 1) << (63 - low % 64);
        const std::uint64_t value = (window & 15) + carry;
        carry = (value + 8) >> 4;  // 8 and more becomes negative
        digits[i] = static_cast<std::int8_t>(value - (carry << 4));
    }
    for (std::uint64_t& each : sum) *const_cast<volatile std::uint64_t*>(&each) = 0;
}

}  // namespace plumbob
