// The lattice core for any machine: one residue at a time, with products of 64 bits.
#include "lattice_common.h"

namespace plumbob {
namespace {

// Harvey's butterflies: values stay below 4 p on the way, and every factor's product below 2 p.
void forward(const LatticePrime& prime, std::uint64_t* values) {
    const std::uint64_t p = prime.value, twice = 2 * p;
    for (std::size_t blocks = 1, stride = prime.degree / 2; stride > 0; blocks *= 2, stride /= 2) {
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::uint64_t factor = prime.forward[blocks + block];
            const std::uint64_t quotient = prime.forward_quotients[blocks + block];
            std::uint64_t* low = values + 2 * block * stride;
            std::uint64_t* high = low + stride;
            for (std::size_t i = 0; i < stride; ++i) {
                const std::uint64_t x = reduce_once(low[i], twice);
                const std::uint64_t y = multiply_lazily(high[i], factor, quotient, p);
                low[i] = x + y;
                high[i] = x - y + twice;
            }
        }
    }
    for (std::size_t i = 0; i < prime.degree; ++i) values[i] = reduce_once(reduce_once(values[i], twice), p);
}

void inverse(const LatticePrime& prime, std::uint64_t* values, const Factor& factor) {
    const std::uint64_t p = prime.value, twice = 2 * p;
    for (std::size_t blocks = prime.degree / 2, stride = 1; blocks > 0; blocks /= 2, stride *= 2) {
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::uint64_t power = prime.inverse[blocks + block];
            const std::uint64_t quotient = prime.inverse_quotients[blocks + block];
            std::uint64_t* low = values + 2 * block * stride;
            std::uint64_t* high = low + stride;
            for (std::size_t i = 0; i < stride; ++i) {
                const std::uint64_t x = low[i], y = high[i];
                low[i] = reduce_once(x + y, twice);
                high[i] = multiply_lazily(x - y + twice, power, quotient, p);
            }
        }
    }
    scale_scalar(prime, values, values, factor);
}

}  // namespace

const LatticeCore portable_lattice_core = {
    64, 1, forward, inverse, dot_scalar, linear_scalar, scale_scalar,
    from_bytes, from_integers, count_above, subtract, cut, pack_scalar, unpack_scalar, Cipher<Words4>::stream, waves_scalar,
    slot_residues_scalar, slot_rounded_scalar, slot_pairs_scalar,
};

}  // namespace plumbob
