// Room for secrets, for both modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace plumbob {

// Aligned words, wiped when they go: they hold multiples of secret points, residues of secret rings and powers of
// secret exponents.
class Words {
public:
    explicit Words(std::size_t count) : count_(count), data_(new (std::align_val_t{64}) std::uint64_t[count]()) {}
    Words(Words&& other) noexcept : count_(other.count_), data_(other.data_) { other.data_ = nullptr; }
    Words& operator=(Words&&) = delete;
    ~Words() {
        if (data_ == nullptr) return;
        for (std::size_t i = 0; i < count_; ++i) const_cast<volatile std::uint64_t*>(data_)[i] = 0;
        operator delete[](data_, std::align_val_t{64});
    }

    std::uint64_t* data() { return data_; }
    const std::uint64_t* data() const { return data_; }

private:
    std::size_t count_;
    std::uint64_t* data_;
};

}  // namespace plumbob
