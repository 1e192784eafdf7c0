// The scalar core in plain C++: for every machine, and the one that the others are compared with.
#include "scalar.h"

namespace plumbob {
namespace {

struct PortableRow {
    static std::uint64_t multiply_add(std::uint64_t* sum, const std::uint64_t* number, std::uint64_t digit,
                                      unsigned digits) {
        Wide carried = 0;
        for (unsigned i = 0; i < digits; ++i) {
            carried += static_cast<Wide>(number[i]) * digit + sum[i];
            sum[i] = static_cast<std::uint64_t>(carried);
            carried >>= 64;
        }
        return static_cast<std::uint64_t>(carried);
    }
};

}  // namespace

const Core portable_core = ScalarCore<PortableRow>::make();

}  // namespace plumbob
