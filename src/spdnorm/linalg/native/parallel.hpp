// Groups of matrices over threads, and scratch memory that outlives a call.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

// Blocks are handed back instead of freed, unless they are large: fresh memory costs a page fault every 4 kB.
class Scratch {
  public:
    explicit Scratch(size_t bytes) {
        {
            std::lock_guard<std::mutex> guard(lock());
            auto& idle = pool();
            for (size_t i = 0; i < idle.size(); ++i)
                if (idle[i].bytes >= bytes) {
                    held_ = idle[i];
                    idle.erase(idle.begin() + long(i));
                    break;
                }
        }
        if (held_.at == nullptr) {
            held_.bytes = (bytes + 4095) / 4096 * 4096;
            held_.at = std::aligned_alloc(4096, held_.bytes);
        }
    }
    ~Scratch() {
        if (held_.bytes > LARGEST_KEPT) {
            std::free(held_.at);
            return;
        }
        std::lock_guard<std::mutex> guard(lock());
        auto& idle = pool();
        idle.push_back(held_);
        if (idle.size() > 16) {
            std::free(idle.front().at);
            idle.erase(idle.begin());
        }
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    template <class V> V* as() const { return static_cast<V*>(held_.at); }

  private:
    static constexpr size_t LARGEST_KEPT = size_t(32) << 20;
    struct Block {
        void* at = nullptr;
        size_t bytes = 0;
    };
    static std::mutex& lock() {
        static std::mutex* one = new std::mutex;
        return *one;
    }
    static std::vector<Block>& pool() {
        static auto* one = new std::vector<Block>;
        return *one;
    }
    Block held_;
};

// Torch's own OpenMP runtime, where there is one: its threads spin between two regions, on cores that threads of another
// kind would have to share. `fork` is GOMP_parallel, which LLVM's runtime has too.
struct Runtime {
    void (*fork)(void (*)(void*), void*, unsigned, unsigned) = nullptr;
    int (*index)() = nullptr;
    int (*count)() = nullptr;
};
inline Runtime& runtime() {
    static Runtime one;
    return one;
}

// work(thread, begin, end) for a share of `groups` on each of `threads`.
template <class Work> void parallel(int64_t groups, int threads, const Work& work) {
    if (threads > groups) threads = int(groups);
    auto share = [&](int t) { work(t, groups * t / threads, groups * (t + 1) / threads); };
    if (threads <= 1) {
        work(0, int64_t(0), groups);
    } else if (runtime().fork != nullptr) {
        // It may give fewer threads than it was asked for.
        auto all = [&] {
            for (int t = runtime().index(); t < threads; t += runtime().count()) share(t);
        };
        runtime().fork([](void* region) { (*static_cast<decltype(all)*>(region))(); }, &all, unsigned(threads), 0);
    } else {
        std::vector<std::thread> others;
        for (int t = 1; t < threads; ++t) others.emplace_back(share, t);
        share(0);
        for (auto& other : others) other.join();
    }
}

// Called once, with addresses from the runtime that torch has loaded.
inline void use_runtime(void* fork, void* index, void* count) {
    runtime().fork = reinterpret_cast<decltype(Runtime::fork)>(fork);
    runtime().index = reinterpret_cast<decltype(Runtime::index)>(index);
    runtime().count = reinterpret_cast<decltype(Runtime::count)>(count);
}
