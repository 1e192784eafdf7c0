// Who does the products: a worker per thread, that counts what it does, and the division of blocks among threads.
#pragma once

#include <algorithm>
#include <atomic>

#include "ring.h"
#include "threads.h"

namespace plumbob {

// Modular products since the start, padding lanes included: tests hold that shapes alone decide it.
inline std::atomic<std::uint64_t> multiplications{0};

class Worker {
public:
    explicit Worker(const Domain& domain) : domain_(domain) {}
    Worker(const Worker&) = delete;
    ~Worker() { multiplications += products_; }

    void multiply(Block out, ConstBlock left, ConstBlock right) {
        domain_.core().multiply(domain_.modulus(), out, left, right);
        products_ += domain_.core().lanes;
    }

    void square(Block out, ConstBlock value) {
        domain_.core().square(domain_.modulus(), out, value);
        products_ += domain_.core().lanes;
    }

    // Loads element(i) for i from `first` on, one per lane; from `end` on, ones.
    template <class Element>
    void load(Block out, std::size_t first, std::size_t end, Element element) {
        const void* elements[kMaxLanes];
        for (unsigned lane = 0; lane < domain_.core().lanes; ++lane) {
            elements[lane] = first + lane < end ? element(first + lane) : domain_.stored_one();
        }
        domain_.core().load(out, elements, domain_.digits());
    }

    template <class Element>
    void store(ConstBlock block, std::size_t first, std::size_t end, Element element) {
        void* elements[kMaxLanes];
        for (unsigned lane = 0; lane < domain_.core().lanes; ++lane) {
            elements[lane] = first + lane < end ? element(first + lane) : nullptr;
        }
        domain_.core().store(elements, block, domain_.digits());
    }

    Words block() const { return Words(domain_.block_words()); }

private:
    const Domain& domain_;
    std::uint64_t products_ = 0;
};

// Calls work(worker, first, last) so that all of [0, items) is covered. Below some fifty microseconds a thread costs more
// than it brings, so `products`, the blocks' products per item, decides.
template <class Work>
void share(const Domain& domain, unsigned threads, std::size_t items, std::size_t products, Work work) {
    const std::size_t worthwhile = std::max<std::size_t>(1, items * products * domain.core().lanes / 64);
    const std::size_t parts = std::max<std::size_t>(1, std::min({std::size_t{threads}, items, worthwhile}));
    run_parts(parts, [&](std::size_t index) {
        Worker worker(domain);
        work(worker, items * index / parts, items * (index + 1) / parts);
    });
}

}  // namespace plumbob
