// Constants of a ring, computed without a division: powers of two by repeated doubling, the inverse of n by Newton's
// iteration.
#include "ring.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace plumbob {
namespace {

using Wide = unsigned __int128;

unsigned bit_length(const std::vector<std::uint64_t>& number) {
    return static_cast<unsigned>(64 * number.size()) - static_cast<unsigned>(std::countl_zero(number.back()));
}

// -1/odd modulo 2^64: an odd number is its own inverse modulo 8, and every step doubles the number of right bits.
std::uint64_t negative_inverse(std::uint64_t odd) {
    std::uint64_t inverse = odd;
    for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
    return 0 - inverse;
}

// Digits so that R >= 16 n, as many as the core wants at once.
unsigned digits_for(const Core& core, unsigned root_bits, unsigned digit_bits) {
    const unsigned digits = (root_bits + 4 + digit_bits - 1) / digit_bits;
    return (digits + core.digit_multiple - 1) / core.digit_multiple * core.digit_multiple;
}

// A column of the second reduction sums 3 * digits products of 2 * digit_bits bits and less than four more in carries
// and constants.
unsigned digit_bits_for(const Core& core, unsigned root_bits) {
    unsigned bits = core.digit_bits;
    if (core.sums_whole_products) {
        while (3 * digits_for(core, root_bits, bits) + 4 > 1u << (64 - 2 * bits)) --bits;
    }
    return bits;
}

Modulus layout(const Ring& ring, const Core& core) {
    const unsigned bits = digit_bits_for(core, ring.root_bits());
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    return {ring.degree(), digits_for(core, ring.root_bits(), bits),
            bits,          negative_inverse(ring.root()[0]) & mask,
            nullptr,       nullptr};
}

std::size_t radix_bits(const Modulus& modulus) { return std::size_t{modulus.digits} * modulus.digit_bits; }

// n - (R mod n) + 1.
std::vector<std::uint64_t> shift_constant(const Ring& ring, std::size_t radix) {
    std::vector<std::uint64_t> shift = ring.power_of_two(radix);
    std::uint64_t borrowed = 0, carried = 1;
    for (unsigned i = 0; i < ring.limbs(); ++i) {
        const Wide difference = static_cast<Wide>(ring.root()[i]) - shift[i] - borrowed;
        borrowed = static_cast<std::uint64_t>(difference >> 64) & 1;
        const Wide sum = static_cast<Wide>(static_cast<std::uint64_t>(difference)) + carried;
        shift[i] = static_cast<std::uint64_t>(sum);
        carried = static_cast<std::uint64_t>(sum >> 64);
    }
    shift.resize(ring.limbs());
    return shift;
}

}  // namespace

Domain::Domain(const Ring& ring, const Core& core)
    : core_(core),
      modulus_(layout(ring, core)),
      root_(constant(ring, ring.root())),
      shift_(constant(ring, shift_constant(ring, radix_bits(modulus_)))),
      one_(constant(ring, ring.power_of_two(radix_bits(modulus_)))),
      entry_(constant(ring, ring.power_of_two(64 * ring.limbs() + 2 * radix_bits(modulus_)))),
      pair_exit_(constant(ring, ring.power_of_two(2 * (64 * ring.limbs() + radix_bits(modulus_))))),
      exit_(constant(ring, ring.power_of_two(0))),
      stored_one_(1, element_bytes()) {
    modulus_.root = root_.data();
    modulus_.shift = shift_.data();
    void* elements[kMaxLanes] = {stored_one_[0]};
    core_.store(elements, one_.data(), digits());
}

// A number of one or two halves, the same in all lanes.
Words Domain::constant(const Ring& ring, const std::vector<std::uint64_t>& halves) const {
    Words block(block_words());
    std::vector<std::uint64_t> padded(halves);
    padded.resize(std::size_t{ring.degree()} * ring.limbs());
    for (unsigned lane = 0; lane < core_.lanes; ++lane) set_lane(block.data(), lane, padded.data(), ring.limbs());
    return block;
}

void Domain::set_lane(Block block, unsigned lane, const std::uint64_t* halves, unsigned limbs) const {
    const unsigned bits = modulus_.digit_bits;
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (unsigned half = 0; half < modulus_.degree; ++half) {
        const std::uint64_t* number = halves + std::size_t{half} * limbs;
        for (unsigned k = 0; k < modulus_.digits; ++k) {
            const unsigned limb = k * bits / 64, offset = k * bits % 64;
            Wide window = limb < limbs ? number[limb] : 0;
            if (limb + 1 < limbs) window |= static_cast<Wide>(number[limb + 1]) << 64;
            block[(std::size_t{half} * modulus_.digits + k) * core_.lanes + lane] =
                static_cast<std::uint64_t>(window >> offset) & mask;
        }
    }
}

void Domain::get_lane(std::uint64_t* halves, unsigned limbs, ConstBlock block, unsigned lane) const {
    const unsigned bits = modulus_.digit_bits;
    std::fill_n(halves, std::size_t{modulus_.degree} * limbs, 0);
    for (unsigned half = 0; half < modulus_.degree; ++half) {
        std::uint64_t* number = halves + std::size_t{half} * limbs;
        for (unsigned k = 0; k < modulus_.digits; ++k) {
            const unsigned limb = k * bits / 64, offset = k * bits % 64;
            const Wide digit = static_cast<Wide>(block[(std::size_t{half} * modulus_.digits + k) * core_.lanes + lane])
                               << offset;
            if (limb < limbs) number[limb] |= static_cast<std::uint64_t>(digit);
            if (limb + 1 < limbs) number[limb + 1] |= static_cast<std::uint64_t>(digit >> 64);
        }
    }
}

Ring::Ring(std::vector<std::uint64_t> root, unsigned degree, const Core& scalar, const Core* vector)
    : degree_(degree), root_bits_(bit_length(root)), limbs_((root_bits_ + 4 + 63) / 64), root_(std::move(root)) {
    modulus_ = root_;
    if (degree == 2) {
        modulus_.assign(2 * root_.size(), 0);
        add_product(modulus_.data(), modulus_.size(), root_.data(), root_.size(), root_.data(), root_.size());
        if (modulus_.back() == 0) modulus_.pop_back();
    }
    root_.resize(limbs_);
    domains_.reserve(2);
    domains_.emplace_back(*this, scalar);
    if (vector != nullptr) domains_.emplace_back(*this, *vector);
}

const Domain& Ring::domain_for(std::size_t items) const {
    const Domain& widest = domains_.back();
    return 2 * items >= widest.core().lanes ? widest : scalar();
}

std::vector<std::uint64_t> Ring::power_of_two(std::size_t exponent) const {
    std::vector<std::uint64_t> power(std::size_t{degree_} * limbs_);
    power[0] = 1;
    for (std::size_t doubling = 0; doubling < exponent; ++doubling) {
        std::uint64_t carried = 0;
        for (unsigned half = 0; half < degree_; ++half) {
            std::uint64_t* number = power.data() + std::size_t{half} * limbs_;
            for (unsigned i = 0; i < limbs_; ++i) {
                const std::uint64_t limb = number[i];
                number[i] = limb << 1 | carried;
                carried = limb >> 63;
            }
            // The n that the lower half loses is a one for the upper half.
            carried = subtract_if_not_less(number, root_.data(), limbs_, carried);
        }
    }
    return power;
}

void Ring::receive(const Domain& domain, Block block, unsigned lane, const std::uint64_t* residue) const {
    std::uint64_t padded[2 * kMaxLimbs] = {}, halves[2 * kMaxLimbs];
    std::copy_n(residue, width(), padded);
    scalar().core().split(scalar().modulus(), halves, padded);
    domain.set_lane(block, lane, halves, limbs_);
}

void Ring::deliver(const Domain& domain, std::uint64_t* residue, ConstBlock block, unsigned lane) const {
    std::uint64_t halves[2 * kMaxLimbs];
    domain.get_lane(halves, limbs_, block, lane);
    std::uint64_t carried = subtract_if_not_less(halves, root_.data(), limbs_, 0);
    const std::size_t low = std::min<std::size_t>(width(), limbs_);
    std::copy_n(halves, low, residue);
    std::fill(residue + low, residue + width(), 0);
    if (degree_ == 1) return;
    std::uint64_t* upper = halves + limbs_;
    for (unsigned i = 0; i < limbs_; ++i) {
        upper[i] += carried;
        carried &= upper[i] == 0;
    }
    subtract_if_not_less(upper, root_.data(), limbs_, carried);
    add_product(residue, width(), upper, limbs_, root_.data(), limbs_);
}

void add_product(std::uint64_t* sum, std::size_t size, const std::uint64_t* left, std::size_t left_size,
                 const std::uint64_t* right, std::size_t right_size) {
    for (std::size_t i = 0; i < std::min(left_size, size); ++i) {
        Wide carried = 0;
        for (std::size_t j = 0; j < std::min(right_size, size - i); ++j) {
            carried += static_cast<Wide>(left[i]) * right[j] + sum[i + j];
            sum[i + j] = static_cast<std::uint64_t>(carried);
            carried >>= 64;
        }
        // Nothing has reached this limb yet: sum + left[0..i] * right < 2^(64 (i + 1 + right_size)).
        if (i + right_size < size) sum[i + right_size] = static_cast<std::uint64_t>(carried);
    }
}

std::uint64_t subtract_if_not_less(std::uint64_t* left, const std::uint64_t* right, std::size_t limbs,
                                   std::uint64_t carried) {
    std::uint64_t borrowed = 0;
    for (std::size_t i = 0; i < limbs; ++i) {
        borrowed = static_cast<std::uint64_t>((static_cast<Wide>(left[i]) - right[i] - borrowed) >> 64) & 1;
    }
    const std::uint64_t is_not_less = carried | (borrowed ^ 1), mask = 0 - is_not_less;
    borrowed = 0;
    for (std::size_t i = 0; i < limbs; ++i) {
        const Wide difference = static_cast<Wide>(left[i]) - (right[i] & mask) - borrowed;
        left[i] = static_cast<std::uint64_t>(difference);
        borrowed = static_cast<std::uint64_t>(difference >> 64) & 1;
    }
    return is_not_less;
}

}  // namespace plumbob
