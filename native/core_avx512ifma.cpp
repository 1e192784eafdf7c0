// The vector core for AVX-512 IFMA: eight lanes, digits of 52 bits, vpmadd52luq and vpmadd52huq.
#include <immintrin.h>

#include "vector.h"

namespace plumbob {
namespace {

struct Avx512Ifma {
    using Vector = __m512i;
    static constexpr unsigned lanes = 8;
    static constexpr unsigned digit_bits = 52;
    static constexpr unsigned stored_bytes = 8;
    // A column collects half products of 52 bits, at most 6 * kMaxDigits < 2^12 of them.
    static constexpr bool sums_whole_products = false;

    static PLUMBOB_INLINE Vector zero() { return _mm512_setzero_si512(); }
    static PLUMBOB_INLINE Vector load(ConstBlock from) { return _mm512_load_si512(from); }
    static PLUMBOB_INLINE void store(Block to, Vector v) { _mm512_store_si512(to, v); }
    static PLUMBOB_INLINE Vector spread(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
    static PLUMBOB_INLINE Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
    static PLUMBOB_INLINE Vector subtract(Vector a, Vector b) { return _mm512_sub_epi64(a, b); }
    static PLUMBOB_INLINE Vector bit_and(Vector a, Vector b) { return _mm512_and_si512(a, b); }
    static PLUMBOB_INLINE Vector shift_right(Vector a, unsigned bits) {
        return _mm512_srl_epi64(a, _mm_cvtsi32_si128(static_cast<int>(bits)));
    }
    static PLUMBOB_INLINE void accumulate(Vector (&columns)[8], unsigned c, Vector a, Vector b) {
        columns[c] = _mm512_madd52lo_epu64(columns[c], a, b);
        columns[c + 1] = _mm512_madd52hi_epu64(columns[c + 1], a, b);
    }
    static PLUMBOB_INLINE Vector quotient(Vector column, Vector inverse, Vector) {
        return _mm512_madd52lo_epu64(zero(), column, inverse);
    }

    // Lane l and lane l + 4 share a register; within each half, rows of four digits become columns, and back.
    static PLUMBOB_INLINE void transpose(Vector (&rows)[4]) {
        const Vector a = _mm512_unpacklo_epi64(rows[0], rows[1]), b = _mm512_unpackhi_epi64(rows[0], rows[1]);
        const Vector c = _mm512_unpacklo_epi64(rows[2], rows[3]), d = _mm512_unpackhi_epi64(rows[2], rows[3]);
        const Vector low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13),
                     high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        rows[0] = _mm512_permutex2var_epi64(a, low, c);
        rows[1] = _mm512_permutex2var_epi64(b, low, d);
        rows[2] = _mm512_permutex2var_epi64(a, high, c);
        rows[3] = _mm512_permutex2var_epi64(b, high, d);
    }

    static PLUMBOB_INLINE __m256i four_digits(const void* element, unsigned k) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(static_cast<const std::uint64_t*>(element) + k));
    }

    static void load_elements(Block out, const void* const* elements, unsigned digits) {
        for (unsigned k = 0; k < digits; k += 4) {
            Vector rows[4];
            for (unsigned lane = 0; lane < 4; ++lane) {
                const Vector first = _mm512_castsi256_si512(four_digits(elements[lane], k));
                rows[lane] = _mm512_inserti64x4(first, four_digits(elements[lane + 4], k), 1);
            }
            transpose(rows);
            for (unsigned i = 0; i < 4; ++i) store(out + (k + i) * 8, rows[i]);
        }
    }

    static PLUMBOB_INLINE void store_four(void* element, unsigned k, __m256i digits) {
        if (element == nullptr) return;
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(static_cast<std::uint64_t*>(element) + k), digits);
    }

    static void store_elements(void* const* elements, ConstBlock block, unsigned digits) {
        for (unsigned k = 0; k < digits; k += 4) {
            Vector rows[4];
            for (unsigned i = 0; i < 4; ++i) rows[i] = load(block + (k + i) * 8);
            transpose(rows);
            for (unsigned lane = 0; lane < 4; ++lane) {
                store_four(elements[lane], k, _mm512_castsi512_si256(rows[lane]));
                store_four(elements[lane + 4], k, _mm512_extracti64x4_epi64(rows[lane], 1));
            }
        }
    }
};

}  // namespace

const Core avx512ifma_core = VectorCore<Avx512Ifma>::make();

}  // namespace plumbob
