// Paillier's Python module, _paillier: checks shapes, lets go of the interpreter, calls the algorithms.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "algorithms.h"
#include "workers.h"

namespace nb = nanobind;

namespace plumbob {
namespace {

using Limbs = nb::ndarray<const std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Number = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Digits = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<2>>;

struct Path {
    const char* name;
    const Core* vector;
};

// What this machine can run, best first; none on a processor without AVX2.
std::vector<Path> paths() {
    std::vector<Path> found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma"))
        found.push_back({"avx512ifma", &avx512ifma_core});
    if (__builtin_cpu_supports("avx2")) found.push_back({"avx2", &avx2_core});
#endif
    return found;
}

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

std::shared_ptr<Ring> make_ring(const std::string& name, Number root, unsigned degree) {
    require(degree == 1 || degree == 2, "expected degree 1 or 2");
    require(root.shape(0) > 0 && root.shape(0) <= kMaxRootBits / 64, "expected a root of 1 to 64 limbs");
    const std::uint64_t* limbs = root.data();
    const std::size_t size = root.shape(0);
    require(limbs[size - 1] != 0 && limbs[0] % 2 == 1 && (size > 1 || limbs[0] > 16),
            "expected an odd root above 16, without leading zero limbs");
    for (const Path& path : paths()) {
        if (name == path.name) {
            return std::make_shared<Ring>(std::vector<std::uint64_t>(limbs, limbs + size), degree, scalar_core,
                                          path.vector);
        }
    }
    throw nb::value_error("expected a path that this machine has: see available_paths()");
}

Result make_result(std::size_t rows, std::size_t width) {
    auto* data = new std::uint64_t[rows * width]();
    nb::capsule owner(data, [](void* pointer) noexcept { delete[] static_cast<std::uint64_t*>(pointer); });
    return Result(data, {rows, width}, owner);
}

void require_rows(const Ring& ring, const Limbs& rows) {
    require(rows.shape(1) == ring.width(), "expected rows of the ring's width");
}

Result multiply_rows(const std::shared_ptr<Ring>& ring, Limbs left, Limbs right, unsigned threads) {
    require_rows(*ring, left);
    require_rows(*ring, right);
    require(right.shape(0) == 1 || right.shape(0) == left.shape(0), "expected as many rows right as left, or one");
    Result result = make_result(left.shape(0), ring->width());
    nb::gil_scoped_release unlocked;
    multiply(*ring, result.data(), left.data(), left.shape(0), right.data(), right.shape(0), threads);
    return result;
}

Result power_rows(const std::shared_ptr<Ring>& ring, Limbs bases, Number exponent, std::size_t bits, unsigned threads) {
    require_rows(*ring, bases);
    require(bits <= 64 * exponent.shape(0), "expected an exponent of as many bits as its limbs have");
    Result result = make_result(bases.shape(0), ring->width());
    nb::gil_scoped_release unlocked;
    power(*ring, result.data(), bases.data(), bases.shape(0), exponent.data(), bits, threads);
    return result;
}

Result combine_rows(const std::shared_ptr<Ring>& ring, Limbs bases, Matrix matrix, unsigned bits, unsigned threads) {
    require_rows(*ring, bases);
    require(bases.shape(0) > 0 && bases.shape(0) == matrix.shape(0), "expected a matrix with a row for each base");
    require(bits >= 1 && bits <= 63, "expected 1 to 63 bits");
    Result result = make_result(matrix.shape(1) + 1, ring->width());
    nb::gil_scoped_release unlocked;
    combine(*ring, result.data(), bases.data(), bases.shape(0), matrix.data(), matrix.shape(1), bits, threads);
    return result;
}

Result pack_rows(const std::shared_ptr<Ring>& ring, Limbs values, std::size_t slots, std::size_t slot_bits,
                 unsigned threads) {
    require_rows(*ring, values);
    require(slots > 0, "expected at least one slot");
    slots = std::min<std::size_t>(slots, std::max<std::size_t>(values.shape(0), 1));
    Result result = make_result((values.shape(0) + slots - 1) / slots, ring->width());
    nb::gil_scoped_release unlocked;
    pack(*ring, result.data(), values.data(), values.shape(0), slots, slot_bits, threads);
    return result;
}

std::shared_ptr<Table> make_table(const std::shared_ptr<Ring>& ring, Limbs bases, unsigned window, unsigned threads) {
    require_rows(*ring, bases);
    require(window >= 1 && window <= 8, "expected a window of 1 to 8 bits");
    require(bases.shape(0) > 0, "expected at least one base");
    nb::gil_scoped_release unlocked;
    return std::make_shared<Table>(ring, bases.data(), bases.shape(0), window, threads);
}

Result look_up_rows(const std::shared_ptr<Table>& table, Digits digits, unsigned threads) {
    require(digits.shape(1) == table->bases(), "expected a digit for each base of the table");
    std::uint8_t all = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) all |= digits.data()[i];
    require(all >> table->window() == 0, "expected digits below 2**window");
    Result result = make_result(digits.shape(0), table->ring().width());
    nb::gil_scoped_release unlocked;
    table->look_up(result.data(), digits.data(), digits.shape(0), threads);
    return result;
}

Result join_rows(const std::shared_ptr<Ring>& first, Number second, Number inverse, Limbs left, Limbs right,
                 std::size_t width, unsigned threads) {
    require_rows(*first, left);
    require(right.shape(0) == left.shape(0) && right.shape(1) == second.shape(0),
            "expected rows of the second modulus, as many as left");
    require(inverse.shape(0) == first->width() && second.shape(0) <= first->width(),
            "expected a second modulus below the first");
    Result result = make_result(left.shape(0), width);
    nb::gil_scoped_release unlocked;
    join(*first, result.data(), width, left.data(), right.data(), left.shape(0), second.data(), second.shape(0),
         inverse.data(), threads);
    return result;
}

}  // namespace
}  // namespace plumbob

NB_MODULE(_paillier, module) {
    using namespace plumbob;
    nb::set_leak_warnings(false);  // Tables live as long as the interpreter.
    nb::class_<Ring>(module, "Ring");
    nb::class_<Table>(module, "Table");
    module.def("ring", make_ring);
    module.def("multiply", multiply_rows);
    module.def("power", power_rows);
    module.def("combine", combine_rows);
    module.def("pack", pack_rows);
    module.def("table", make_table);
    module.def("look_up", look_up_rows);
    module.def("join", join_rows);
    module.def("available_paths", [] {
        std::vector<std::string> names;
        for (const Path& path : paths()) names.emplace_back(path.name);
        return names;
    });
    module.def("multiplications", [] { return multiplications.load(); });
}
