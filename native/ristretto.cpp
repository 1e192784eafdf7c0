#include "ristretto.h"

#include <algorithm>
#include <atomic>

#include "ristretto_scalar.h"
#include "threads.h"

namespace plumbob {
namespace {

// Points that a thread takes at a time without a core's batches: enough to be worth it, few enough to be shared evenly.
constexpr std::size_t kTurn = 512;

// Calls turn(part, first, size) for pieces of [0, count), at most `size` each, and gives the place of the first point
// that is refused. Pieces are handed out in order and each is finished, so that the place does not depend on threads.
template <class Turn>
std::size_t in_turns(std::size_t count, std::size_t size, unsigned threads, Turn turn) {
    std::atomic<std::size_t> refused{kNoneRefused};
    hand_out(threads, (count + size - 1) / size, [&](std::size_t index) {
        return [&, index](std::size_t piece) {
            const std::size_t first = piece * size;
            const std::size_t found = turn(index, first, std::min(size, count - first));
            if (found == kNoneRefused) return false;
            std::size_t lowest = refused;
            while (first + found < lowest && !refused.compare_exchange_weak(lowest, first + found)) {
            }
            return true;
        };
    });
    return refused;
}

// A core's batch, or less where that leaves a thread without work.
std::size_t turn_size(const EdwardsCore& core, std::size_t count, unsigned threads) {
    const std::size_t share = (count + threads - 1) / std::max(1U, threads);
    const std::size_t vectors = (share + core.lanes - 1) / core.lanes;
    return std::max<std::size_t>(core.lanes, std::min(core.batch, vectors * core.lanes));
}

// A room for each thread, made by it and wiped at the end.
class Rooms {
public:
    Rooms(const EdwardsCore& core, unsigned threads) : words_(core.room_words), rooms_(std::max(1U, threads)) {}

    std::uint64_t* operator[](std::size_t part) {
        if (!rooms_[part]) rooms_[part] = std::make_unique<Words>(words_);
        return rooms_[part]->data();
    }

private:
    std::size_t words_;
    std::vector<std::unique_ptr<Words>> rooms_;
};

}  // namespace

SecretScalar::SecretScalar(const std::uint8_t* bytes) {
    std::uint64_t words[4] = {};
    for (std::size_t i = 0; i < kScalarBytes; ++i) words[i / 8] |= std::uint64_t{bytes[i]} << (8 * (i % 8));
    is_valid_ = is_scalar(words) != 0;
    if (is_valid_) split_half(words, digits_);
    for (std::uint64_t& word : words) *const_cast<volatile std::uint64_t*>(&word) = 0;
}

SecretScalar::~SecretScalar() {
    for (std::int8_t& digit : digits_) *const_cast<volatile std::int8_t*>(&digit) = 0;
}

std::size_t multiply_points(const EdwardsCore& core, std::uint8_t* out, const std::uint8_t* points, std::size_t count,
                            const SecretScalar& scalar, unsigned threads) {
    Rooms rooms(core, threads);
    return in_turns(count, turn_size(core, count, threads), threads,
                    [&](std::size_t part, std::size_t first, std::size_t size) {
                        return core.multiply(out + first * kPointBytes, points + first * kPointBytes, size,
                                             scalar.digits(), rooms[part]);
                    });
}

std::size_t multiply_mapped(const EdwardsCore& core, std::uint8_t* out, const std::uint8_t* uniform, std::size_t count,
                            const SecretScalar* scalar, unsigned threads) {
    Rooms rooms(core, threads);
    return in_turns(count, turn_size(core, count, threads), threads,
                    [&](std::size_t part, std::size_t first, std::size_t size) {
                        return core.multiply_mapped(out + first * kPointBytes, uniform + first * kUniformBytes, size,
                                                    scalar == nullptr ? nullptr : &scalar->digits(), rooms[part]);
                    });
}

std::size_t add_points(const EdwardsCore& core, std::uint8_t* out, const std::uint8_t* left, const std::uint8_t* right,
                       std::size_t count, unsigned threads) {
    return in_turns(count, kTurn, threads, [&](std::size_t, std::size_t first, std::size_t size) {
        const std::size_t at = first * kPointBytes;
        return core.add(out + at, left + at, right + at, size);
    });
}

std::uint64_t* Buckets::set_at(std::size_t index) {
    while (sets_.size() <= index) {
        sets_.emplace_back(core_.bucket_words);
        core_.clear(sets_.back().data());
    }
    return sets_[index].data();
}

std::size_t Buckets::combine(const std::uint8_t* points, const std::uint8_t* factors, std::size_t count,
                             unsigned threads) {
    const std::lock_guard<std::mutex> locked(mutex_);
    const std::size_t most = std::max<std::size_t>(1, std::min<std::size_t>(threads, (count + kTurn - 1) / kTurn));
    set_at(most - 1);
    // Until all is added: an interruption leaves points out.
    const bool was_spoilt = is_spoilt_;
    is_spoilt_ = true;
    const std::size_t refused = in_turns(
        count, kTurn, static_cast<unsigned>(most), [&](std::size_t part, std::size_t first, std::size_t size) {
            return core_.combine(sets_[part].data(), points + first * kPointBytes, factors + first * kFactorBytes, size);
        });
    is_spoilt_ = was_spoilt || refused != kNoneRefused;
    return refused;
}

bool Buckets::join(std::uint8_t* out) {
    const std::lock_guard<std::mutex> locked(mutex_);
    if (is_spoilt_) return false;
    set_at(0);
    std::vector<const std::uint64_t*> sets;
    for (const Words& set : sets_) sets.push_back(set.data());
    core_.join(out, sets.data(), sets.size());
    return true;
}

}  // namespace plumbob
