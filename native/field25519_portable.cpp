// The group for any machine: one point at a time.
#include "field25519_portable.h"

namespace plumbob {
namespace {

struct PortableLanes {
    using Word = std::uint64_t;
    using WideWord = unsigned __int128;
    static constexpr unsigned lanes = 1;

    static PLUMBOB_INLINE Word spread(std::uint64_t value) { return value; }
    static PLUMBOB_INLINE Word load(const std::uint64_t* from) { return *from; }
    static PLUMBOB_INLINE void store(std::uint64_t* to, Word value) { *to = value; }
    static PLUMBOB_INLINE Word narrowed(WideWord value) { return static_cast<Word>(value); }
    static PLUMBOB_INLINE WideWord multiply(Word a, Word b) { return static_cast<WideWord>(a) * b; }
    static PLUMBOB_INLINE unsigned bits(Word mask) { return static_cast<unsigned>(mask & 1); }

    // All ones or zero, without a comparison that could become a branch.
    static PLUMBOB_INLINE Word equal(Word a, Word b) {
        const Word differs = a ^ b;
        Word is_equal = ((differs | (0 - differs)) >> 63) ^ 1;
        __asm__("" : "+r"(is_equal));
        return 0 - is_equal;
    }

    static PLUMBOB_INLINE Word select(Word mask, Word a, Word b) { return b ^ (mask & (a ^ b)); }

    static constexpr std::size_t padded(std::size_t words) { return words; }

    template <std::size_t kWords>
    static PLUMBOB_INLINE void gather(Word* out, std::uint64_t* const* entries) {
        for (std::size_t i = 0; i < kWords; ++i) out[i] = entries[0][i];
    }

    template <std::size_t kWords>
    static PLUMBOB_INLINE void scatter(std::uint64_t* const* entries, const Word* values) {
        for (std::size_t i = 0; i < kWords; ++i) entries[0][i] = values[i];
    }
};

}  // namespace

const EdwardsCore portable_edwards_core = Edwards<PortableField<PortableLanes>>::make();

}  // namespace plumbob
