// SHA-512 (FIPS 180-4) of many short texts that begin alike: what they begin with is hashed once and copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plumbob {

constexpr std::size_t kHashBytes = 64;

class Sha512 {
public:
    void add(const std::uint8_t* data, std::size_t size) {
        while (size != 0) {
            const std::size_t part = std::min(size, kBlock - used_);
            std::memcpy(block_ + used_, data, part);
            used_ += part, total_ += part, data += part, size -= part;
            if (used_ == kBlock) mix();
        }
    }

    void finish(std::uint8_t* out) {
        const std::uint64_t bits = 8 * total_;
        block_[used_++] = 0x80;
        if (used_ > kBlock - 16) {
            std::memset(block_ + used_, 0, kBlock - used_);
            mix();
        }
        // The upper half of the length is 0.
        std::memset(block_ + used_, 0, kBlock - used_);
        store(block_ + kBlock - 8, bits);
        mix();
        for (unsigned i = 0; i < 8; ++i) store(out + 8 * i, state_[i]);
    }

private:
    static constexpr std::size_t kBlock = 128;
    static constexpr std::uint64_t kRounds[80] = {
        0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
        0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
        0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
        0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
        0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
        0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
        0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
        0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
        0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
        0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
        0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
        0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
        0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
        0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
        0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
        0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

    static std::uint64_t load(const std::uint8_t* bytes) {
        std::uint64_t word = 0;
        for (unsigned i = 0; i < 8; ++i) word = word << 8 | bytes[i];
        return word;
    }

    static void store(std::uint8_t* bytes, std::uint64_t word) {
        for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(word >> (56 - 8 * i));
    }

    static std::uint64_t turned(std::uint64_t word, unsigned bits) { return word >> bits | word << (64 - bits); }

    void mix() {
        std::uint64_t words[16], s[8];
        for (unsigned i = 0; i < 16; ++i) words[i] = load(block_ + 8 * i);
        std::copy(state_, state_ + 8, s);
        for (unsigned first = 0; first < 80; first += 16) {
#pragma GCC unroll 16
            for (unsigned i = 0; i < 16; ++i) {
                if (first != 0) words[i] = scheduled(words, i);
                const std::uint64_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
                const std::uint64_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
                const std::uint64_t one = s[7] + (turned(s[4], 14) ^ turned(s[4], 18) ^ turned(s[4], 41)) + choice +
                                          kRounds[first + i] + words[i];
                const std::uint64_t other = (turned(s[0], 28) ^ turned(s[0], 34) ^ turned(s[0], 39)) + majority;
                s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + one;
                s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = one + other;
            }
        }
        for (unsigned i = 0; i < 8; ++i) state_[i] += s[i];
        used_ = 0;
    }

    static std::uint64_t scheduled(const std::uint64_t* words, unsigned i) {
        const std::uint64_t early = words[(i + 1) % 16], late = words[(i + 14) % 16];
        return words[i] + (turned(early, 1) ^ turned(early, 8) ^ early >> 7) + words[(i + 9) % 16] +
               (turned(late, 19) ^ turned(late, 61) ^ late >> 6);
    }

    std::uint64_t state_[8] = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0x510e527fade682d1,
        0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    std::uint8_t block_[kBlock];
    std::size_t used_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace plumbob
