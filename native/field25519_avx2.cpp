// The group with AVX2: four points at a time.
#include <immintrin.h>

#include "field25519_avx2.h"

namespace plumbob {
namespace {

struct Avx2Lanes {
    typedef unsigned long long Word __attribute__((vector_size(32), may_alias));
    static constexpr unsigned lanes = 4;

    static PLUMBOB_INLINE __m256i raw(Word a) { return reinterpret_cast<__m256i>(a); }
    static PLUMBOB_INLINE Word word(__m256i a) { return reinterpret_cast<Word>(a); }
    static PLUMBOB_INLINE Word spread(std::uint64_t value) {
        return word(_mm256_set1_epi64x(static_cast<long long>(value)));
    }
    static PLUMBOB_INLINE Word load(const std::uint64_t* from) {
        return word(_mm256_load_si256(reinterpret_cast<const __m256i*>(from)));
    }
    static PLUMBOB_INLINE void store(std::uint64_t* to, Word value) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), raw(value));
    }
    static PLUMBOB_INLINE Word multiply(Word a, Word b) { return word(_mm256_mul_epu32(raw(a), raw(b))); }
    static PLUMBOB_INLINE unsigned bits(Word mask) {
        return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(raw(mask))));
    }
    static PLUMBOB_INLINE Word equal(Word a, Word b) { return word(_mm256_cmpeq_epi64(raw(a), raw(b))); }
    static PLUMBOB_INLINE Word select(Word mask, Word a, Word b) {
        return word(_mm256_blendv_epi8(raw(b), raw(a), raw(mask)));
    }

    // Has the words in memory, where products read them: the registers are for sums.
    template <std::size_t kWords>
    static PLUMBOB_INLINE void settle(Word (&words)[kWords]) {
        __asm__("" : "+m"(words));
    }

    // Has the sums in registers after each row of products: the compiler would reorder all rows, and spill.
    static PLUMBOB_INLINE void keep(Word (&w)[10]) {
        __asm__("" : "+x"(w[0]), "+x"(w[1]), "+x"(w[2]), "+x"(w[3]), "+x"(w[4]), "+x"(w[5]), "+x"(w[6]), "+x"(w[7]),
                "+x"(w[8]), "+x"(w[9]));
    }

    static constexpr std::size_t padded(std::size_t words) { return (words + 3) / 4 * 4; }

    static PLUMBOB_INLINE void transpose(__m256i* rows) {
        const __m256i low0 = _mm256_unpacklo_epi64(rows[0], rows[1]), high0 = _mm256_unpackhi_epi64(rows[0], rows[1]);
        const __m256i low1 = _mm256_unpacklo_epi64(rows[2], rows[3]), high1 = _mm256_unpackhi_epi64(rows[2], rows[3]);
        rows[0] = _mm256_permute2x128_si256(low0, low1, 0x20);
        rows[1] = _mm256_permute2x128_si256(high0, high1, 0x20);
        rows[2] = _mm256_permute2x128_si256(low0, low1, 0x31);
        rows[3] = _mm256_permute2x128_si256(high0, high1, 0x31);
    }

    template <std::size_t kWords>
    static PLUMBOB_INLINE void gather(Word* out, std::uint64_t* const* entries) {
        for (std::size_t start = 0; start < kWords; start += 4) {
            __m256i rows[4];
            for (unsigned lane = 0; lane < 4; ++lane) rows[lane] = raw(load(entries[lane] + start));
            transpose(rows);
            for (unsigned i = 0; i < 4; ++i) out[start + i] = word(rows[i]);
        }
    }

    template <std::size_t kWords>
    static PLUMBOB_INLINE void scatter(std::uint64_t* const* entries, const Word* values) {
        for (std::size_t start = 0; start < kWords; start += 4) {
            __m256i rows[4];
            for (unsigned i = 0; i < 4; ++i) rows[i] = raw(values[start + i]);
            transpose(rows);
            for (unsigned lane = 0; lane < 4; ++lane) store(entries[lane] + start, word(rows[lane]));
        }
    }
};

}  // namespace

const EdwardsCore avx2_edwards_core = Edwards<Avx2Field<Avx2Lanes>>::make();

}  // namespace plumbob
