// Roots of x^degree + 1 modulo primes, for programs that test the kernel without Python.
#pragma once

#include "../lattice.h"

namespace plumbob {

// For each prime, a power of the first number that is no square.
inline Words64 roots_of(const Words64& primes, std::size_t degree) {
    Words64 roots;
    for (std::uint64_t p : primes) {
        auto power = [p](std::uint64_t base, std::uint64_t exponent) {
            unsigned __int128 result = 1, square = base;
            for (; exponent > 0; exponent /= 2, square = square * square % p) {
                if (exponent % 2 == 1) result = result * square % p;
            }
            return static_cast<std::uint64_t>(result);
        };
        std::uint64_t base = 2;
        while (power(base, (p - 1) / 2) != p - 1) ++base;
        roots.push_back(power(base, (p - 1) / (2 * degree)));
    }
    return roots;
}

// As in sets.py.
const Words64 kAllPrimes = {1125899904679937, 1125899903991809, 1125899903827969,
                            1125899903795201, 1125899903500289, 1125899903107073};
const Words64 kPlainPrimes(kAllPrimes.begin(), kAllPrimes.begin() + 3);
const Words64 kSlotModuli = {68718428161, 68717740033, 68716036097};

}  // namespace plumbob
