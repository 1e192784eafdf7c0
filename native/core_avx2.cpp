// The vector core for AVX2: four lanes, digits of 28 bits or fewer, vpmuludq and vpaddq.
#include <immintrin.h>

#include "vector.h"

namespace plumbob {
namespace {

struct Avx2 {
    using Vector = __m256i;
    static constexpr unsigned lanes = 4;
    static constexpr unsigned digit_bits = 28;
    static constexpr unsigned stored_bytes = 4;
    static constexpr bool sums_whole_products = true;

    static PLUMBOB_INLINE Vector zero() { return _mm256_setzero_si256(); }
    static PLUMBOB_INLINE Vector load(ConstBlock from) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
    }
    static PLUMBOB_INLINE void store(Block to, Vector v) { _mm256_store_si256(reinterpret_cast<__m256i*>(to), v); }
    static PLUMBOB_INLINE Vector spread(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
    static PLUMBOB_INLINE Vector add(Vector a, Vector b) { return _mm256_add_epi64(a, b); }
    static PLUMBOB_INLINE Vector subtract(Vector a, Vector b) { return _mm256_sub_epi64(a, b); }
    static PLUMBOB_INLINE Vector bit_and(Vector a, Vector b) { return _mm256_and_si256(a, b); }
    static PLUMBOB_INLINE Vector shift_right(Vector a, unsigned bits) {
        return _mm256_srl_epi64(a, _mm_cvtsi32_si128(static_cast<int>(bits)));
    }
    static PLUMBOB_INLINE void accumulate(Vector (&columns)[8], unsigned c, Vector a, Vector b) {
        // GCC would reorder the additions and then run out of registers for the columns.
        Vector product;
        __asm__("vpmuludq %[b], %[a], %[product]\n\tvpaddq %[product], %[column], %[column]"
                : [column] "+x"(columns[c]), [product] "=&x"(product)
                : [a] "x"(a), [b] "x"(b));
    }
    static PLUMBOB_INLINE Vector quotient(Vector column, Vector inverse, Vector mask) {
        return bit_and(_mm256_mul_epu32(column, inverse), mask);
    }

    // Rows of four digits become columns, and back: the same exchange both ways.
    static PLUMBOB_INLINE void transpose(Vector (&rows)[4]) {
        const Vector a = _mm256_unpacklo_epi64(rows[0], rows[1]), b = _mm256_unpackhi_epi64(rows[0], rows[1]);
        const Vector c = _mm256_unpacklo_epi64(rows[2], rows[3]), d = _mm256_unpackhi_epi64(rows[2], rows[3]);
        rows[0] = _mm256_permute2x128_si256(a, c, 0x20);
        rows[1] = _mm256_permute2x128_si256(b, d, 0x20);
        rows[2] = _mm256_permute2x128_si256(a, c, 0x31);
        rows[3] = _mm256_permute2x128_si256(b, d, 0x31);
    }

    static void load_elements(Block out, const void* const* elements, unsigned digits) {
        for (unsigned k = 0; k < digits; k += 4) {
            Vector rows[4];
            for (unsigned lane = 0; lane < 4; ++lane) {
                const auto* from = static_cast<const std::uint32_t*>(elements[lane]) + k;
                rows[lane] = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
            }
            transpose(rows);
            for (unsigned i = 0; i < 4; ++i) store(out + (k + i) * 4, rows[i]);
        }
    }

    static void store_elements(void* const* elements, ConstBlock block, unsigned digits) {
        const __m256i low_words = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
        for (unsigned k = 0; k < digits; k += 4) {
            Vector rows[4];
            for (unsigned i = 0; i < 4; ++i) rows[i] = load(block + (k + i) * 4);
            transpose(rows);
            for (unsigned lane = 0; lane < 4; ++lane) {
                if (elements[lane] == nullptr) continue;
                auto* to = static_cast<std::uint32_t*>(elements[lane]) + k;
                const __m256i packed = _mm256_permutevar8x32_epi32(rows[lane], low_words);
                _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
            }
        }
    }
};

}  // namespace

const Core avx2_core = VectorCore<Avx2>::make();

}  // namespace plumbob
