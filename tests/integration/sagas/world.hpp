#pragma once

#include <sagabox/saga.hpp>
#include <sagabox/store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::integration {

/// What functions were asked to do, in order: "book flight 1", with the attempt.
class Diary {
 public:
  void write(std::string line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  [[nodiscard]] std::vector<std::string> all() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }
  [[nodiscard]] std::size_t count(const std::string& line) const {
    const auto lines = all();
    return static_cast<std::size_t>(std::ranges::count(lines, line));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

struct SagaStoreCase {
  std::string name;
  /// Keeps what the store lives in.
  std::function<std::shared_ptr<Store>()> open;
};

/// Sagas on one store, through the public API.
class SagaWorld : public ::testing::TestWithParam<SagaStoreCase> {
 protected:
  void SetUp() override {
    store = GetParam().open();
    if (store->sagas() == nullptr) GTEST_SKIP() << store->name() << " has no sagas";
  }

  static SagaOptions quick() {
    SagaOptions options;
    options.lease = std::chrono::seconds(2);
    options.drain_timeout = std::chrono::seconds(2);
    options.poll_interval = std::chrono::milliseconds(20);
    options.reply_secret = "a secret of this test";
    return options;
  }

  /// A function that writes down what it was asked to do, and answers.
  SagaFunction doing(const std::string& what, SagaAnswer answer = saga_ok()) {
    return [this, what, answer](const SagaCall& call) {
      diary.write(what + " " + std::to_string(call.attempt()));
      return answer;
    };
  }

  /// Three steps that can be undone; `hotel` says how the second one answers.
  static SagaDefinition travel() {
    const RetryPolicy retry{.attempts_max = 3,
                            .backoff_min = std::chrono::milliseconds(5),
                            .backoff_max = std::chrono::milliseconds(20)};
    SagaDefinition definition{.name = "travel"};
    for (const std::string step : {"flight", "hotel", "car"}) {
      definition.steps.push_back({.name = step,
                                  .action = "fn:book_" + step,
                                  .compensation = "fn:cancel_" + step,
                                  .retry = retry});
    }
    return definition;
  }
  void add_travel(Sagas& sagas, SagaFunction hotel) {
    for (const std::string step : {"flight", "hotel", "car"}) {
      sagas.function("book_" + step, step == "hotel" ? hotel : doing("book " + step)).value();
      sagas.function("cancel_" + step, doing("cancel " + step)).value();
    }
    sagas.define(travel()).value();
  }

  [[nodiscard]] std::optional<SagaRecord> record(const SagaId& id) const {
    return store->saga_admin()->get(id).value();
  }
  [[nodiscard]] bool comes_to(const SagaId& id, SagaState state) const {
    return eventually_so([&] {
      const auto found = record(id);
      return found && found->state == state;
    });
  }
  static bool eventually_so(const std::function<bool()>& so) {
    for (int look = 0; look < 4000; ++look) {
      if (so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  std::shared_ptr<Store> store;
  Diary diary;
};

/// Holds on every store: each has a file that says so.
class SagasTest : public SagaWorld {};

/// Messages that lead to sagas; holds on every store, too.
class SagaRoutesTest : public SagaWorld {};

inline std::string saga_store_name(const ::testing::TestParamInfo<SagaStoreCase>& info) {
  return info.param.name;
}

}  // namespace sagabox::integration
