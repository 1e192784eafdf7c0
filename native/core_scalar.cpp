// The scalar core in plain C++: the way into the vector cores, and for fewer residues than fill their lanes.
#include "scalar.h"

namespace plumbob {
namespace {

struct Row {
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

const Core scalar_core = ScalarCore<Row>::make();

}  // namespace plumbob
