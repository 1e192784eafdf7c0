// A ring as the algorithms see it: one domain per core of the chosen path, and the way in and out of each.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "core.h"
#include "words.h"

namespace plumbob {

// Many residues in storage. They take far less room than blocks, and each is contiguous, so that look-ups touch few
// cache lines.
class Residues {
public:
    Residues(std::size_t count, std::size_t bytes)
        : bytes_(bytes), data_(new (std::align_val_t{64}) char[count * bytes + 1]) {}

    char* operator[](std::size_t index) { return data_.get() + index * bytes_; }
    const char* operator[](std::size_t index) const { return data_.get() + index * bytes_; }
    std::size_t bytes() const { return bytes_; }

private:
    struct Free {
        void operator()(char* data) const { operator delete[](data, std::align_val_t{64}); }
    };
    std::size_t bytes_;
    std::unique_ptr<char[], Free> data_;
};

class Ring;

// The residues of a ring in the Montgomery form of one core.
class Domain {
public:
    Domain(const Ring& ring, const Core& core);
    Domain(Domain&&) = default;

    const Core& core() const { return core_; }
    const Modulus& modulus() const { return modulus_; }
    unsigned digits() const { return modulus_.degree * modulus_.digits; }
    std::size_t block_words() const { return std::size_t{digits()} * core_.lanes; }
    std::size_t element_bytes() const { return std::size_t{digits()} * core_.stored_bytes; }

    // Constants as blocks. With R the radix of this core and S that of the scalar core, which splits what comes in:
    ConstBlock one() const { return one_.data(); }              // R: one, in Montgomery form
    ConstBlock entry() const { return entry_.data(); }          // S R^2: makes x / S to x R
    ConstBlock pair_exit() const { return pair_exit_.data(); }  // (S R)^2: makes x y / (S^2 R) to x y
    ConstBlock exit() const { return exit_.data(); }            // 1: makes x R to x
    const char* stored_one() const { return stored_one_[0]; }

    // Cuts numbers of 64-bit limbs into the digits of a lane, and back.
    void set_lane(Block block, unsigned lane, const std::uint64_t* halves, unsigned limbs) const;
    void get_lane(std::uint64_t* halves, unsigned limbs, ConstBlock block, unsigned lane) const;

private:
    Words constant(const Ring& ring, const std::vector<std::uint64_t>& halves) const;

    const Core& core_;
    Modulus modulus_;
    Words root_, shift_, one_, entry_, pair_exit_, exit_;
    Residues stored_one_;
};

class Ring {
public:
    // `root` is odd, has no leading zero limb, more than 4 and at most kMaxRootBits bits. `vector` may be null.
    Ring(std::vector<std::uint64_t> root, unsigned degree, const Core& scalar, const Core* vector);
    Ring(const Ring&) = delete;

    unsigned degree() const { return degree_; }
    unsigned root_bits() const { return root_bits_; }
    unsigned limbs() const { return limbs_; }  // of a half in the scalar core
    std::size_t width() const { return modulus_.size(); }
    const std::vector<std::uint64_t>& root() const { return root_; }        // padded to `limbs`
    const std::vector<std::uint64_t>& modulus() const { return modulus_; }  // of `width` limbs

    const Domain& scalar() const { return domains_.front(); }
    // The domain in which `items` independent chains of products are fastest.
    const Domain& domain_for(std::size_t items) const;

    // 2^exponent in exact n-adic form: half after half, each of `limbs`.
    std::vector<std::uint64_t> power_of_two(std::size_t exponent) const;

    // One residue, `width` limbs, to a lane of a block that then holds x / S, and back from a lane that holds x.
    void receive(const Domain& domain, Block block, unsigned lane, const std::uint64_t* residue) const;
    void deliver(const Domain& domain, std::uint64_t* residue, ConstBlock block, unsigned lane) const;

private:
    unsigned degree_, root_bits_, limbs_;
    std::vector<std::uint64_t> root_, modulus_;
    std::vector<Domain> domains_;
};

// sum += left * right, where sum has `size` limbs, those above `right_size` are zero, and what does not fit is dropped.
void add_product(std::uint64_t* sum, std::size_t size, const std::uint64_t* left, std::size_t left_size,
                 const std::uint64_t* right, std::size_t right_size);
// left -= right if left + carried * 2^(64 limbs) >= right, without a branch; returns whether it did.
std::uint64_t subtract_if_not_less(std::uint64_t* left, const std::uint64_t* right, std::size_t limbs,
                                   std::uint64_t carried);

}  // namespace plumbob
