#include "bench/postgres/writers.hpp"

#include <utility>

namespace sagabox::bench::postgres {

Writers::Writers(const Load& load, std::function<std::uint64_t()> settled)
    : load_(load),
      settled_(std::move(settled)),
      store_(world().open()),
      outbox_(Outbox::writer_only(*store_, {.table = load.outbox}).value()) {
  constexpr std::uint64_t apart = 1'000'000'000;
  for (int number = 1; number <= load_.threads; ++number) {
    threads_.emplace_back([this, number] { run(static_cast<std::uint64_t>(number) * apart); });
  }
}

void Writers::run(std::uint64_t first) {
  try {
    while (!ending_.load()) {
      if (written_.load() > settled_() + load_.ahead_max) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      std::vector<NewMessage> drafts;
      for (int i = 0; i < load_.batch; ++i) drafts.push_back(draft(first++));
      (void)store_
          ->transaction(
              [&](OwnedTransaction& tx) { return outbox_.write_all(tx, std::move(drafts)); })
          .value();
      written_.fetch_add(static_cast<std::uint64_t>(load_.batch));
      std::this_thread::sleep_for(load_.pause);
    }
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::current_exception();
  }
}

void Writers::end() {
  ending_.store(true);
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

std::uint64_t Writers::stop() {
  end();
  if (failure_) std::rethrow_exception(failure_);
  return written_.load();
}

}  // namespace sagabox::bench::postgres
