// The lattice kernel's part of the Python module: checks shapes, lets go of the interpreter, calls the algorithms.
#include "lattice_module.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>

#include "lattice.h"
#include "threads.h"

namespace nb = nanobind;

namespace plumbob {
namespace {

using Numbers = nb::ndarray<const std::uint64_t, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;
using Smalls = nb::ndarray<const std::int32_t, nb::c_contig, nb::device::cpu>;
using Words32 = nb::ndarray<const std::uint32_t, nb::c_contig, nb::device::cpu>;
template <class T>
using Result = nb::ndarray<nb::numpy, T>;
using Handle = std::shared_ptr<Lattice>;

struct LatticePath {
    const char* name;
    const LatticeCore* core;
};

// What this machine can run, best first.
std::vector<LatticePath> lattice_paths() {
    std::vector<LatticePath> found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512ifma") &&
        __builtin_cpu_supports("avx512vbmi"))
        found.push_back({"avx512ifma", &avx512ifma_lattice_core});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back({"avx2", &avx2_lattice_core});
#endif
    found.push_back({"portable", &portable_lattice_core});
    return found;
}

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

const LatticeCore& core_named(const std::string& name) {
    for (const LatticePath& path : lattice_paths()) {
        if (name == path.name) return *path.core;
    }
    throw nb::value_error("expected a path that this machine has: see lattice_paths()");
}

Handle make_lattice(const std::string& name, std::size_t degree, const Words64& primes, const Words64& roots,
                    const Words64& slot_primes, const Words64& slot_roots) {
    require(degree >= 16 && degree <= kMostDegree && (degree & (degree - 1)) == 0, "expected a power of two as degree");
    require(!primes.empty() && primes.size() <= kMostPrimes && roots.size() == primes.size(),
            "expected one to six primes and a root for each");
    require((slot_primes.empty() || slot_primes.size() == kSlotPrimes) && slot_roots.size() == slot_primes.size(),
            "expected no or three slot primes and a root for each");
    for (std::uint64_t p : primes) require(p >> 49 == 1 && p % (2 * degree) == 1, "expected primes of 50 bits");
    for (std::uint64_t p : slot_primes) require(p >> 35 == 1 && p % (2 * degree) == 1, "expected slot primes of 36 bits");
    return std::make_shared<Lattice>(core_named(name), degree, primes, roots, slot_primes, slot_roots);
}

template <class T>
Result<T> make_result(std::vector<std::size_t> shape) {
    std::size_t size = 1;
    for (std::size_t each : shape) size *= each;
    auto* data = new T[size];
    nb::capsule owner(data, [](void* pointer) noexcept { delete[] static_cast<T*>(pointer); });
    return Result<T>(data, shape.size(), shape.data(), owner);
}

StreamKey stream_key(const nb::bytes& key) {
    require(key.size() == 32, "expected a stream key of 32 bytes");
    StreamKey result;
    std::memcpy(result.words, key.c_str(), 32);
    return result;
}

void require_polynomial(const Lattice& lattice, const Numbers& value) {
    require(value.ndim() == 2 && value.shape(0) == lattice.primes() && value.shape(1) == lattice.degree(),
            "expected residues of shape (primes, degree)");
}

void require_packed(const Lattice& lattice, const Bytes& packed) {
    require(packed.ndim() == 3 && packed.shape(1) == lattice.primes() && packed.shape(2) == lattice.packed_bytes(),
            "expected packed polynomials of shape (count, primes, bytes)");
}

void require_smalls(const Lattice& lattice, const Smalls& values, std::size_t dimensions) {
    require(values.ndim() == dimensions && values.shape(dimensions - 1) == lattice.degree(),
            "expected small numbers whose last axis is the degree");
}

void require_widths(const Lattice& lattice, unsigned reply_bits, unsigned share_bits) {
    require(reply_bits % 8 == 0 && reply_bits >= 8 && reply_bits <= 128 && share_bits >= 1 && share_bits < reply_bits,
            "expected replies of 1 to 16 bytes that are wider than shares");
    require(10 * (reply_bits + 15) <= 499 * lattice.primes(), "expected replies that the primes hold");
}

Result<std::uint64_t> uniform(const Handle& lattice, const nb::bytes& key, std::uint64_t index) {
    const StreamKey stream = stream_key(key);
    auto result = make_result<std::uint64_t>({lattice->primes(), lattice->degree()});
    nb::gil_scoped_release unlocked;
    lattice->uniform(stream, index, result.data());
    return result;
}

Result<std::uint64_t> ternary(const Handle& lattice, const nb::bytes& key, std::uint64_t index) {
    const StreamKey stream = stream_key(key);
    auto result = make_result<std::uint64_t>({lattice->primes(), lattice->degree()});
    nb::gil_scoped_release unlocked;
    lattice->ternary(stream, index, result.data());
    return result;
}

Result<std::uint64_t> errors(const Handle& lattice, const nb::bytes& key, std::uint64_t index) {
    const StreamKey stream = stream_key(key);
    auto result = make_result<std::uint64_t>({lattice->primes(), lattice->degree()});
    nb::gil_scoped_release unlocked;
    lattice->errors(stream, index, result.data());
    return result;
}

Result<std::uint64_t> transform(const Handle& lattice, Smalls coefficients, unsigned threads) {
    require_smalls(*lattice, coefficients, 2);
    const std::size_t count = coefficients.shape(0);
    auto result = make_result<std::uint64_t>({count, lattice->primes(), lattice->degree()});
    nb::gil_scoped_release unlocked;
    lattice->transform_all(coefficients.data(), count, result.data(), threads);
    return result;
}

// In place and nothing else: for benchmarks, beside another library's transform.
void forward(const Handle& lattice, nb::ndarray<std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> values,
             unsigned repeats) {
    require(values.shape(0) == lattice->primes() && values.shape(1) == lattice->degree(),
            "expected residues of shape (primes, degree)");
    require(lattice->is_reduced(values.data()), "expected residues below their primes");
    nb::gil_scoped_release unlocked;
    for (unsigned k = 0; k < repeats; ++k) lattice->forward(values.data());
}

Result<std::uint64_t> combine(const Handle& lattice, Numbers first, Numbers second, Numbers third) {
    require_polynomial(*lattice, first);
    require_polynomial(*lattice, second);
    require_polynomial(*lattice, third);
    auto result = make_result<std::uint64_t>({lattice->primes(), lattice->degree()});
    nb::gil_scoped_release unlocked;
    lattice->combine(first.data(), second.data(), third.data(), result.data());
    return result;
}

Result<std::uint8_t> pack(const Handle& lattice, Numbers value) {
    require_polynomial(*lattice, value);
    auto result = make_result<std::uint8_t>({lattice->primes(), lattice->packed_bytes()});
    lattice->pack(value.data(), result.data());
    return result;
}

Result<std::uint64_t> unpack(const Handle& lattice, Bytes packed) {
    require_packed(*lattice, packed);
    const std::size_t count = packed.shape(0), words = lattice->words(), bytes = lattice->primes() * lattice->packed_bytes();
    auto result = make_result<std::uint64_t>({count, lattice->primes(), lattice->degree()});
    for (std::size_t index = 0; index < count; ++index) {
        require(lattice->unpack(packed.data() + index * bytes, result.data() + index * words),
                "expected residues below their primes");
    }
    return result;
}

nb::bytes high_bits(const Handle& lattice, Numbers value, unsigned dropped) {
    require_polynomial(*lattice, value);
    require(dropped >= 1 && dropped <= 63, "expected to drop 1 to 63 bits");
    std::vector<std::uint8_t> out(40 * lattice->degree());
    {
        nb::gil_scoped_release unlocked;
        lattice->high_bits(value.data(), dropped, out.data());
    }
    return nb::bytes(reinterpret_cast<const char*>(out.data()), out.size());
}

// A request of many megabytes is written where Python keeps it, behind its prefix: no copy is made.
nb::bytes make_bytes(const nb::bytes& prefix, std::size_t size, std::uint8_t*& data) {
    PyObject* object = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(prefix.size() + size));
    if (object == nullptr) throw nb::python_error();
    std::memcpy(PyBytes_AS_STRING(object), prefix.c_str(), prefix.size());
    data = reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(object)) + prefix.size();
    prefer_large_pages(data, size);
    return nb::steal<nb::bytes>(object);
}

Lattice::RequestKeys request_keys(const Lattice& lattice, const Numbers& secret, const nb::bytes& uniform,
                                  const nb::bytes& errors, std::uint64_t first) {
    require_polynomial(lattice, secret);
    return {secret.data(), stream_key(uniform), stream_key(errors), first};
}

void require_pairs(const Lattice& lattice, const Numbers& values) {
    require(values.ndim() == 3 && values.shape(1) == lattice.degree() && values.shape(2) == 2,
            "expected numbers of shape (count, degree, 2)");
}

// Makes a request of `count` polynomials behind its prefix: work(data) writes them.
template <class Work>
nb::bytes make_request(const Lattice& lattice, std::size_t count, const nb::bytes& prefix, Work work) {
    std::uint8_t* data = nullptr;
    nb::bytes result = make_bytes(prefix, count * lattice.primes() * lattice.packed_bytes(), data);
    nb::gil_scoped_release unlocked;
    work(data);
    return result;
}

nb::bytes encrypt(const Handle& lattice, Numbers secret, const nb::bytes& uniform, const nb::bytes& errors,
                  std::uint64_t first, Numbers messages, unsigned bits, const nb::bytes& prefix, unsigned threads) {
    const Lattice::RequestKeys keys = request_keys(*lattice, secret, uniform, errors, first);
    require_pairs(*lattice, messages);
    require(bits >= 1 && bits <= 128, "expected 1 to 128 bits");
    return make_request(*lattice, messages.shape(0), prefix, [&](std::uint8_t* data) {
        lattice->encrypt(keys, messages.shape(0), messages.data(), bits, data, threads);
    });
}

nb::bytes encrypt_slots(const Handle& lattice, Numbers secret, const nb::bytes& uniform, const nb::bytes& errors,
                        std::uint64_t first, Smalls values, const nb::bytes& prefix, unsigned threads) {
    require(lattice->has_slots(), "expected a lattice with slots");
    const Lattice::RequestKeys keys = request_keys(*lattice, secret, uniform, errors, first);
    require_smalls(*lattice, values, 2);
    return make_request(*lattice, values.shape(0), prefix, [&](std::uint8_t* data) {
        lattice->encrypt_slots(keys, values.shape(0), values.data(), data, threads);
    });
}

nb::bytes encrypt_wide_slots(const Handle& lattice, Numbers secret, const nb::bytes& uniform, const nb::bytes& errors,
                             std::uint64_t first, Numbers values, const nb::bytes& prefix, unsigned threads) {
    require(lattice->has_slots(), "expected a lattice with slots");
    const Lattice::RequestKeys keys = request_keys(*lattice, secret, uniform, errors, first);
    require_pairs(*lattice, values);
    return make_request(*lattice, values.shape(0), prefix, [&](std::uint8_t* data) {
        lattice->encrypt_slots(keys, values.shape(0), values.data(), data, threads);
    });
}

Lattice::ReplyKeys reply_keys(const Lattice& lattice, const nb::bytes& uniform, const Numbers& b, const nb::bytes& a,
                              const nb::bytes& secret, const nb::bytes& errors, std::uint64_t first) {
    require_polynomial(lattice, b);
    return {stream_key(uniform), b.data(), stream_key(a), stream_key(secret), stream_key(errors), first};
}

// Lets go of the interpreter; what comes from a peer may be refused.
template <class Work>
void require_residues(Work work) {
    bool is_right = false;
    {
        nb::gil_scoped_release unlocked;
        is_right = work();
    }
    require(is_right, "expected residues below their primes");
}

Lattice::Places checked_places(const Lattice& lattice, const Words32& places) {
    Lattice::Places result(places.data(), places.data() + places.size());
    for (std::uint32_t place : result) require(place < lattice.degree(), "expected places below the degree");
    return result;
}

void require_matrix(const Lattice& lattice, const Numbers& matrix, std::size_t requests) {
    require(matrix.ndim() == 4 && matrix.shape(1) == requests && matrix.shape(2) == lattice.primes() &&
                matrix.shape(3) == lattice.degree(),
            "expected a matrix of shape (replies, requests, primes, degree)");
}

Result<std::uint64_t> add_up(const Handle& lattice, const nb::bytes& uniform, std::uint64_t first, Bytes packed,
                             Numbers matrix, unsigned threads) {
    require_packed(*lattice, packed);
    require_matrix(*lattice, matrix, packed.shape(0));
    const StreamKey stream = stream_key(uniform);
    auto sums = make_result<std::uint64_t>({matrix.shape(0), 2, lattice->primes(), lattice->degree()});
    require_residues([&] {
        return lattice->add_up(stream, first, packed.data(), packed.shape(0), matrix.data(), matrix.shape(0), sums.data(),
                               threads);
    });
    return sums;
}

nb::tuple make_reply(const Lattice& lattice, const Lattice::ReplyKeys& keys, const std::uint8_t* packed,
                     std::size_t requests, const std::uint64_t* matrix, std::size_t replies, const std::uint64_t* sums,
                     unsigned reply_bits, unsigned share_bits, const Words32& places, unsigned threads) {
    const Lattice::Places answers = checked_places(lattice, places);
    require_widths(lattice, reply_bits, share_bits);
    auto sent = make_result<std::uint8_t>({replies, lattice.degree(), reply_bits / 8});
    auto shares = make_result<std::uint64_t>({replies, answers.size(), 2});
    require_residues([&] {
        return lattice.reply(keys, packed, requests, matrix, replies, sums, reply_bits, share_bits, answers, sent.data(),
                             shares.data(), threads);
    });
    return nb::make_tuple(sent, shares);
}

nb::tuple reply(const Handle& lattice, const nb::bytes& uniform, Numbers b, const nb::bytes& a, const nb::bytes& secret,
                const nb::bytes& errors, std::uint64_t first, Bytes packed, Numbers matrix, unsigned reply_bits,
                unsigned share_bits, Words32 places, unsigned threads) {
    require_packed(*lattice, packed);
    require_matrix(*lattice, matrix, packed.shape(0));
    const Lattice::ReplyKeys keys = reply_keys(*lattice, uniform, b, a, secret, errors, first);
    return make_reply(*lattice, keys, packed.data(), packed.shape(0), matrix.data(), matrix.shape(0), nullptr, reply_bits,
                      share_bits, places, threads);
}

nb::tuple hide(const Handle& lattice, const nb::bytes& uniform, Numbers b, const nb::bytes& a, const nb::bytes& secret,
               const nb::bytes& errors, std::uint64_t first, Numbers sums, unsigned reply_bits, unsigned share_bits,
               Words32 places, unsigned threads) {
    require_matrix(*lattice, sums, 2);
    const Lattice::ReplyKeys keys = reply_keys(*lattice, uniform, b, a, secret, errors, first);
    return make_reply(*lattice, keys, nullptr, 0, nullptr, sums.shape(0), sums.data(), reply_bits, share_bits, places,
                      threads);
}

void require_values(const Lattice& lattice, const Smalls& values) { require_smalls(lattice, values, 3); }

void require_values(const Lattice& lattice, const Numbers& values) {
    require(values.ndim() == 4 && values.shape(2) == lattice.degree() && values.shape(3) == 2,
            "expected numbers of shape (blocks, terms, degree, 2)");
}

// Values are small numbers, or numbers below t.
template <class Values>
nb::tuple reply_slots(const Handle& lattice, const nb::bytes& uniform, Numbers b, const nb::bytes& a,
                      const nb::bytes& secret, const nb::bytes& errors, std::uint64_t first, Bytes packed, Values values,
                      bool is_turn, unsigned threads) {
    require(lattice->has_slots(), "expected a lattice with slots");
    require_packed(*lattice, packed);
    require_values(*lattice, values);
    const std::size_t blocks = values.shape(0), terms = values.shape(1);
    require(!is_turn || terms % 2 == 0, "expected as many sines as cosines");
    require(packed.shape(0) == blocks * terms, "expected a polynomial for each block and term");
    const Lattice::ReplyKeys keys = reply_keys(*lattice, uniform, b, a, secret, errors, first);
    const std::size_t replies = is_turn ? blocks * terms : blocks;
    auto sent = make_result<std::uint8_t>({replies, lattice->primes(), lattice->packed_bytes()});
    auto shares = make_result<std::uint64_t>({replies, lattice->degree(), 2});
    require_residues([&] {
        return is_turn ? lattice->reply_turns(keys, packed.data(), blocks, terms / 2, values.data(), sent.data(),
                                              shares.data(), threads)
                       : lattice->reply_slots(keys, packed.data(), blocks, terms, values.data(), sent.data(),
                                              shares.data(), threads);
    });
    return nb::make_tuple(sent, shares);
}

Result<std::uint64_t> open(const Handle& lattice, Numbers secret, Bytes packed, unsigned reply_bits, unsigned share_bits,
                           Words32 places, unsigned threads) {
    const Lattice::Places answers = checked_places(*lattice, places);
    require_polynomial(*lattice, secret);
    require_widths(*lattice, reply_bits, share_bits);
    require(packed.ndim() == 3 && packed.shape(1) == lattice->degree() && packed.shape(2) == reply_bits / 8,
            "expected replies of shape (count, degree, bytes)");
    auto shares = make_result<std::uint64_t>({packed.shape(0), answers.size(), 2});
    nb::gil_scoped_release unlocked;
    lattice->open(secret.data(), packed.data(), packed.shape(0), reply_bits, share_bits, answers, shares.data(), threads);
    return shares;
}

Result<std::uint64_t> open_slots(const Handle& lattice, Numbers secret, Bytes packed, unsigned threads) {
    require(lattice->has_slots(), "expected a lattice with slots");
    require_polynomial(*lattice, secret);
    require_packed(*lattice, packed);
    auto shares = make_result<std::uint64_t>({packed.shape(0), lattice->degree(), 2});
    require_residues(
        [&] { return lattice->open_slots(secret.data(), packed.data(), packed.shape(0), shares.data(), threads); });
    return shares;
}

Result<std::int32_t> waves(const std::string& path, Words32 angles, const std::vector<std::uint32_t>& harmonics,
                           const std::vector<std::uint32_t>& shifts, const std::vector<std::int64_t>& scales,
                           unsigned dropped, unsigned threads) {
    require(angles.ndim() == 1, "expected one axis of angles");
    require(shifts.size() == harmonics.size() && scales.size() == harmonics.size(), "expected a shift and a scale for each");
    require(dropped < 63, "expected to drop fewer than 63 bits");
    std::vector<Wave> wanted;
    for (std::size_t k = 0; k < harmonics.size(); ++k) {
        require(scales[k] >= INT32_MIN && scales[k] <= INT32_MAX, "expected scales of 32 bits");
        wanted.push_back({harmonics[k], shifts[k], scales[k], dropped});
    }
    const LatticeCore& core = core_named(path);
    auto result = make_result<std::int32_t>({wanted.size(), angles.size()});
    nb::gil_scoped_release unlocked;
    all_waves(core, wanted, angles.data(), angles.size(), result.data(), threads);
    return result;
}

using Entries = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using PairRows = nb::ndarray<const std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Result<std::uint64_t> own_scores(Entries entries, PairRows share, unsigned threads) {
    require(share.shape(0) == entries.shape(1) && share.shape(1) == 2, "expected a share of shape (columns, 2)");
    auto result = make_result<std::uint64_t>({entries.shape(0)});
    nb::gil_scoped_release unlocked;
    multiply_rows(entries.data(), entries.shape(0), entries.shape(1), share.data(), result.data(), threads);
    return result;
}

Result<std::uint64_t> own_sums(Entries entries, PairRows share, unsigned threads) {
    require(share.shape(0) == entries.shape(0) && share.shape(1) == 2, "expected a share of shape (rows, 2)");
    auto result = make_result<std::uint64_t>({entries.shape(1), 2});
    nb::gil_scoped_release unlocked;
    add_up_rows(entries.data(), entries.shape(0), entries.shape(1), share.data(), result.data(), threads);
    return result;
}

void ask_interruption() {
    nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

void add_lattice(nb::module_& module) {
    asks_interruption = ask_interruption;
    nb::class_<Lattice>(module, "Lattice");
    module.def("lattice", make_lattice);
    module.def("lattice_paths", [] {
        std::vector<std::string> names;
        for (const LatticePath& path : lattice_paths()) names.emplace_back(path.name);
        return names;
    });
    module.def("lattice_uniform", uniform);
    module.def("lattice_ternary", ternary);
    module.def("lattice_errors", errors);
    module.def("lattice_transform", transform);
    module.def("lattice_forward", forward);
    module.def("lattice_combine", combine);
    module.def("lattice_pack", pack);
    module.def("lattice_unpack", unpack);
    module.def("lattice_high_bits", high_bits);
    module.def("lattice_encrypt", encrypt);
    module.def("lattice_encrypt_slots", encrypt_slots);
    module.def("lattice_encrypt_wide_slots", encrypt_wide_slots);
    module.def("lattice_add_up", add_up);
    module.def("lattice_reply", reply);
    module.def("lattice_hide", hide);
    module.def("lattice_reply_slots", reply_slots<Smalls>);
    module.def("lattice_reply_wide_slots", reply_slots<Numbers>);
    module.def("lattice_open", open);
    module.def("lattice_open_slots", open_slots);
    module.def("lattice_waves", waves);
    module.def("lattice_own_scores", own_scores);
    module.def("lattice_own_sums", own_sums);
}

}  // namespace plumbob
