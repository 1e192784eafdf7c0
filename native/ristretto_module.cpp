// The group's part of the Python module: checks sizes, lets go of the interpreter, calls the engines.
#include "ristretto_module.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "ristretto.h"
#include "ristretto_scalar.h"

namespace nb = nanobind;

namespace plumbob {
namespace {

struct EdwardsPath {
    const char* name;
    const EdwardsCore* core;
};

// What this machine can run, best first.
std::vector<EdwardsPath> edwards_paths() {
    std::vector<EdwardsPath> found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512ifma"))
        found.push_back({"avx512ifma", &avx512ifma_edwards_core});
    if (__builtin_cpu_supports("avx2")) found.push_back({"avx2", &avx2_edwards_core});
#endif
    found.push_back({"portable", &portable_edwards_core});
    return found;
}

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

const EdwardsCore& core_named(const std::string& name) {
    for (const EdwardsPath& path : edwards_paths()) {
        if (name == path.name) return *path.core;
    }
    throw nb::value_error("expected a path that this machine has: see ristretto_paths()");
}

// Bytes of any object that has some: bytes, a memoryview, an array.
class View {
public:
    explicit View(const nb::object& object) {
        if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    View(const View&) = delete;
    ~View() { PyBuffer_Release(&buffer_); }

    const std::uint8_t* data() const { return static_cast<const std::uint8_t*>(buffer_.buf); }
    std::size_t size() const { return static_cast<std::size_t>(buffer_.len); }

    std::size_t count(std::size_t item, const char* message) const {
        require(size() % item == 0, message);
        return size() / item;
    }

private:
    Py_buffer buffer_;
};

constexpr const char* kWantedPoints = "expected points of 32 bytes each";

nb::bytes make_bytes(std::size_t size) {
    return nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
}

nb::bytes make_points(std::size_t count) { return make_bytes(count * kPointBytes); }

std::uint8_t* data_of(const nb::bytes& bytes) { return reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(bytes.ptr())); }

// The points and None, or None and the place of the first that was refused.
nb::tuple answer(nb::bytes points, std::size_t refused) {
    if (refused == kNoneRefused) return nb::make_tuple(points, nb::none());
    return nb::make_tuple(nb::none(), refused);
}

void require_scalar(const SecretScalar& scalar) {
    require(scalar.is_valid(), "expected a scalar from 1 to the group's order - 1");
}

nb::tuple times(const std::string& path, const nb::object& points, const nb::bytes& scalar, unsigned threads) {
    const EdwardsCore& core = core_named(path);
    const View view(points);
    const std::size_t count = view.count(kPointBytes, kWantedPoints);
    require(scalar.size() == kScalarBytes, "expected a scalar of 32 bytes");
    const SecretScalar secret(data_of(scalar));
    require_scalar(secret);
    nb::bytes result = make_points(count);
    std::size_t refused;
    {
        nb::gil_scoped_release unlocked;
        refused = multiply_points(core, data_of(result), view.data(), count, secret, threads);
    }
    return answer(result, refused);
}

nb::tuple times_mapped(const std::string& path, const nb::object& uniform, const nb::bytes& scalar, unsigned threads) {
    const EdwardsCore& core = core_named(path);
    const View view(uniform);
    const std::size_t count = view.count(kUniformBytes, "expected uniform strings of 64 bytes each");
    require(scalar.size() == kScalarBytes || scalar.size() == 0, "expected a scalar of 32 bytes, or none");
    std::optional<SecretScalar> secret;
    if (scalar.size() != 0) require_scalar(secret.emplace(data_of(scalar)));
    nb::bytes result = make_points(count);
    std::size_t refused;
    {
        nb::gil_scoped_release unlocked;
        refused = multiply_mapped(core, data_of(result), view.data(), count, secret ? &*secret : nullptr, threads);
    }
    return answer(result, refused);
}

nb::tuple add(const std::string& path, const nb::object& left, const nb::object& right, unsigned threads) {
    const EdwardsCore& core = core_named(path);
    const View lefts(left), rights(right);
    const std::size_t count = lefts.count(kPointBytes, kWantedPoints);
    require(rights.size() == lefts.size(), "expected as many points right as left");
    nb::bytes result = make_points(count);
    std::size_t refused;
    {
        nb::gil_scoped_release unlocked;
        refused = add_points(core, data_of(result), lefts.data(), rights.data(), count, threads);
    }
    return answer(result, refused);
}

nb::object combine(const std::shared_ptr<Buckets>& buckets, const nb::object& points, const nb::object& factors,
                   unsigned threads) {
    const View view(points), multiples(factors);
    const std::size_t count = view.count(kPointBytes, kWantedPoints);
    require(multiples.size() == count * kFactorBytes, "expected a factor of 16 bytes for each point");
    std::size_t refused;
    {
        nb::gil_scoped_release unlocked;
        refused = buckets->combine(view.data(), multiples.data(), count, threads);
    }
    return refused == kNoneRefused ? nb::none() : nb::object(nb::int_(refused));
}

nb::bytes join(const std::shared_ptr<Buckets>& buckets) {
    nb::bytes result = make_points(1);
    bool is_whole;
    {
        nb::gil_scoped_release unlocked;
        is_whole = buckets->join(data_of(result));
    }
    require(is_whole, "expected buckets that all points were added to: one was refused, or a call was interrupted");
    return result;
}

}  // namespace

void add_ristretto(nb::module_& module) {
    nb::class_<Buckets>(module, "RistrettoBuckets");
    module.def("ristretto_paths", [] {
        std::vector<std::string> names;
        for (const EdwardsPath& path : edwards_paths()) names.emplace_back(path.name);
        return names;
    });
    module.def("ristretto_times", times);
    module.def("ristretto_times_mapped", times_mapped);
    module.def("ristretto_add", add);
    module.def("ristretto_buckets", [](const std::string& path) { return std::make_shared<Buckets>(core_named(path)); });
    module.def("ristretto_combine", combine);
    module.def("ristretto_join", join);
}

}  // namespace plumbob
