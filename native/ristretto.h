// The group as the Python module sees it: many points at once, on several threads.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "edwards_core.h"
#include "words.h"

namespace plumbob {

// The digits of a secret scalar, wiped when they go.
class SecretScalar {
public:
    // 32 bytes, little-endian. Without `is_valid` there are no digits.
    explicit SecretScalar(const std::uint8_t* bytes);
    SecretScalar(const SecretScalar&) = delete;
    ~SecretScalar();

    bool is_valid() const { return is_valid_; }
    const ScalarDigits& digits() const { return digits_; }

private:
    ScalarDigits digits_ = {};
    bool is_valid_ = false;
};

// What was combined so far: a set of buckets for each thread, because two threads would need each other's.
class Buckets {
public:
    explicit Buckets(const EdwardsCore& core) : core_(core) {}
    Buckets(const Buckets&) = delete;

    // Adds factors times points. After a refusal, what was added is unknown, and so the whole sum is refused from then on.
    std::size_t combine(const std::uint8_t* points, const std::uint8_t* factors, std::size_t count, unsigned threads);
    // False if a point was refused before.
    bool join(std::uint8_t* out);

private:
    std::uint64_t* set_at(std::size_t index);

    const EdwardsCore& core_;
    std::mutex mutex_;  // Callers let go of the interpreter's lock.
    std::vector<Words> sets_;
    bool is_spoilt_ = false;
};

// As in EdwardsCore, on several threads that live as long as the call.
std::size_t multiply_points(const EdwardsCore& core, std::uint8_t* out, const std::uint8_t* points, std::size_t count,
                            const SecretScalar& scalar, unsigned threads);
std::size_t multiply_mapped(const EdwardsCore& core, std::uint8_t* out, const std::uint8_t* uniform, std::size_t count,
                            const SecretScalar* scalar, unsigned threads);
std::size_t add_points(const EdwardsCore& core, std::uint8_t* out, const std::uint8_t* left, const std::uint8_t* right,
                       std::size_t count, unsigned threads);

}  // namespace plumbob
