// Threads of one call, for both modules: they live as long as it does, so that there is no pool that a fork could break.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace plumbob {

// Throws if the call is to end; the Python module sets it. Asked from time to time, by the thread that called us.
inline void (*asks_interruption)() = nullptr;

// Asks from time to time whether somebody wants to end the call: only the thread that made it may.
class Interruptions {
public:
    void ask() {
        const auto now = std::chrono::steady_clock::now();
        if (asks_interruption == nullptr || now < next_) return;
        next_ = now + kPause;
        asks_interruption();
    }

private:
    static constexpr std::chrono::milliseconds kPause{100};
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kPause;
};

// Calls part(index) for each index below `parts`, each in a thread of its own but the first, which is this one; then
// throws what one of them threw.
template <class Part>
void run_parts(std::size_t parts, Part part) {
    std::vector<std::exception_ptr> failures(parts);
    auto guarded = [&](std::size_t index) {
        try {
            part(index);
        } catch (...) {
            failures[index] = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    helpers.reserve(parts);
    std::size_t started = 1;
    try {
        for (; started < parts; ++started) helpers.emplace_back(guarded, started);
    } catch (const std::system_error&) {
        // The system has no thread left for us: what was not handed out is done here.
    }
    guarded(0);
    for (; started < parts; ++started) guarded(started);
    for (auto& helper : helpers) helper.join();
    for (const auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

// Hands items out in order until one thread's work(item) says that there is enough, or throws; start(index) makes the
// work of one thread. Every item that was handed out is finished.
template <class Start>
void hand_out(unsigned threads, std::size_t items, Start start) {
    std::atomic<std::size_t> next{0};
    run_parts(std::max<std::size_t>(1, std::min<std::size_t>(threads, items)), [&](std::size_t index) {
        try {
            auto work = start(index);
            Interruptions interruptions;
            for (std::size_t item = next++; item < items; item = next++) {
                if (work(item)) next = items;
                if (index == 0) interruptions.ask();
            }
        } catch (...) {
            next = items;
            throw;
        }
    });
}

}  // namespace plumbob
