// The group with AVX-512 IFMA: eight points at a time.
#include <immintrin.h>

#include "field25519_avx512ifma.h"

namespace plumbob {
namespace {

struct Avx512Lanes {
    typedef unsigned long long Word __attribute__((vector_size(64), may_alias));
    static constexpr unsigned lanes = 8;

    static PLUMBOB_INLINE __m512i raw(Word a) { return reinterpret_cast<__m512i>(a); }
    static PLUMBOB_INLINE Word word(__m512i a) { return reinterpret_cast<Word>(a); }
    static PLUMBOB_INLINE Word spread(std::uint64_t value) { return word(_mm512_set1_epi64(static_cast<long long>(value))); }
    static PLUMBOB_INLINE Word load(const std::uint64_t* from) { return word(_mm512_load_si512(from)); }
    static PLUMBOB_INLINE void store(std::uint64_t* to, Word value) { _mm512_store_si512(to, raw(value)); }
    static PLUMBOB_INLINE Word add_low(Word sum, Word a, Word b) {
        return word(_mm512_madd52lo_epu64(raw(sum), raw(a), raw(b)));
    }
    static PLUMBOB_INLINE Word add_high(Word sum, Word a, Word b) {
        return word(_mm512_madd52hi_epu64(raw(sum), raw(a), raw(b)));
    }
    static PLUMBOB_INLINE unsigned bits(Word mask) { return _mm512_movepi64_mask(raw(mask)); }
    static PLUMBOB_INLINE Word equal(Word a, Word b) {
        return word(_mm512_movm_epi64(_mm512_cmpeq_epi64_mask(raw(a), raw(b))));
    }
    static PLUMBOB_INLINE Word select(Word mask, Word a, Word b) {
        return word(_mm512_ternarylogic_epi64(raw(mask), raw(a), raw(b), 0xCA));
    }

    // Lines of a cache: a lane's entry is transposed in squares of eight by eight words.
    static constexpr std::size_t padded(std::size_t words) { return (words + 7) / 8 * 8; }

    static PLUMBOB_INLINE void transpose(__m512i* rows) {
        __m512i pairs[8], fours[8];
#pragma GCC unroll 4
        for (unsigned i = 0; i < 8; i += 2) {
            pairs[i] = _mm512_unpacklo_epi64(rows[i], rows[i + 1]);
            pairs[i + 1] = _mm512_unpackhi_epi64(rows[i], rows[i + 1]);
        }
#pragma GCC unroll 2
        for (unsigned i = 0; i < 8; i += 4) {
#pragma GCC unroll 2
            for (unsigned k = 0; k < 2; ++k) {
                fours[i + k] = _mm512_shuffle_i64x2(pairs[i + k], pairs[i + k + 2], 0x88);
                fours[i + k + 2] = _mm512_shuffle_i64x2(pairs[i + k], pairs[i + k + 2], 0xDD);
            }
        }
#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; ++k) {
            rows[k] = _mm512_shuffle_i64x2(fours[k], fours[k + 4], 0x88);
            rows[k + 4] = _mm512_shuffle_i64x2(fours[k], fours[k + 4], 0xDD);
        }
    }

    template <std::size_t kWords>
    static PLUMBOB_INLINE void gather(Word* out, std::uint64_t* const* entries) {
#pragma GCC unroll 4
        for (std::size_t start = 0; start < kWords; start += 8) {
            __m512i rows[8];
#pragma GCC unroll 8
            for (unsigned lane = 0; lane < 8; ++lane) rows[lane] = _mm512_load_si512(entries[lane] + start);
            transpose(rows);
#pragma GCC unroll 8
            for (unsigned i = 0; i < 8; ++i) out[start + i] = word(rows[i]);
        }
    }

    template <std::size_t kWords>
    static PLUMBOB_INLINE void scatter(std::uint64_t* const* entries, const Word* values) {
#pragma GCC unroll 4
        for (std::size_t start = 0; start < kWords; start += 8) {
            __m512i rows[8];
#pragma GCC unroll 8
            for (unsigned i = 0; i < 8; ++i) rows[i] = raw(values[start + i]);
            transpose(rows);
#pragma GCC unroll 8
            for (unsigned lane = 0; lane < 8; ++lane) _mm512_store_si512(entries[lane] + start, rows[lane]);
        }
    }
};

}  // namespace

const EdwardsCore avx512ifma_edwards_core = Edwards<IfmaField<Avx512Lanes>>::make();

}  // namespace plumbob
