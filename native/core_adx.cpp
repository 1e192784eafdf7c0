// The scalar core with mulx, adcx and adox (Broadwell, Zen and later): two carry chains run side by side, one for the
// products' upper digits and one for the sum.
#include "scalar.h"

namespace plumbob {
namespace {

// clang-format off
#define PLUMBOB_STEP(offset, carried_in, carried_out)          \
    "mulx " #offset "(%[number]), %%rax, %" carried_out "\n\t" \
    "adcx %" carried_in ", %%rax\n\t"                          \
    "adox " #offset "(%[sum]), %%rax\n\t"                      \
    "movq %%rax, " #offset "(%[sum])\n\t"
// clang-format on

struct AdxRow {
    static std::uint64_t multiply_add(std::uint64_t* sum, const std::uint64_t* number, std::uint64_t digit,
                                      unsigned digits) {
        std::uint64_t carried = 0;
        for (unsigned rest = digits % 8; rest > 0; --rest, ++sum, ++number) {
            const Wide product = static_cast<Wide>(*number) * digit + *sum + carried;
            *sum = static_cast<std::uint64_t>(product);
            carried = static_cast<std::uint64_t>(product >> 64);
        }
        std::uint64_t rounds = digits / 8, other;
        if (rounds == 0) return carried;
        // The loop is counted by lea and jrcxz because these leave both carry flags alone.
        __asm__ volatile(
            "xorl %%eax, %%eax\n"
            "1:\n\t"
            PLUMBOB_STEP(0, "[carried]", "[other]")
            PLUMBOB_STEP(8, "[other]", "[carried]")
            PLUMBOB_STEP(16, "[carried]", "[other]")
            PLUMBOB_STEP(24, "[other]", "[carried]")
            PLUMBOB_STEP(32, "[carried]", "[other]")
            PLUMBOB_STEP(40, "[other]", "[carried]")
            PLUMBOB_STEP(48, "[carried]", "[other]")
            PLUMBOB_STEP(56, "[other]", "[carried]")
            "leaq 64(%[number]), %[number]\n\t"
            "leaq 64(%[sum]), %[sum]\n\t"
            "leaq -1(%%rcx), %%rcx\n\t"
            "jrcxz 2f\n\t"
            "jmp 1b\n"
            "2:\n\t"
            "movl $0, %%eax\n\t"
            "adcx %%rax, %[carried]\n\t"
            "adox %%rax, %[carried]\n\t"
            : [sum] "+r"(sum), [number] "+r"(number), [carried] "+r"(carried), [other] "=&r"(other), "+c"(rounds)
            : "d"(digit)
            : "rax", "cc", "memory");
        return carried;
    }
};

#undef PLUMBOB_STEP

}  // namespace

const Core adx_core = ScalarCore<AdxRow>::make();

}  // namespace plumbob
