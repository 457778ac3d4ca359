#pragma once

#include "crash/journal.hpp"

#include <sagabox/delivery.hpp>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace sagabox::crash {

/// Does what the message asks of its handler, and notes it.
class Handler {
 public:
  Handler(const Journal& notes, bool answers_early, std::chrono::microseconds goes_on_for)
      : notes_(notes), early_(answers_early), goes_on_for_(goes_on_for) {}

  Outcome operator()(const Delivery& delivery) {
    using Kind = Delivered::Kind;
    if (const auto until = header(delivery, "hold"); !until.empty()) {
      notes_.append(note_of(delivery, Kind::held).line());
      const auto mine = until + "." + std::to_string(getpid());
      while (!std::filesystem::exists(mine)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
    const auto fails = header(delivery, "fails");
    if (!fails.empty() && delivery.attempt() <= std::stoul(fails)) {
      notes_.append(note_of(delivery, Kind::failed).line());
      return retry("asked to fail");
    }
    auto note = note_of(delivery, Kind::done).line();
    if (!early_) {
      notes_.append(std::move(note));
      // Whoever is killed here has delivered and says so to nobody.
      std::this_thread::sleep_for(goes_on_for_);
      return done();
    }
    // Broken: says that it is done, and does it afterwards.
    std::thread([this, note = std::move(note)] {
      std::this_thread::sleep_for(std::chrono::seconds(10));
      notes_.append(note);
    }).detach();
    return done();
  }

 private:
  static std::string header(const Delivery& delivery, std::string_view name) {
    for (const auto& [key, value] : delivery.headers()) {
      if (key == name) return value;
    }
    return {};
  }

  static Delivered note_of(const Delivery& delivery, Delivered::Kind kind) {
    return {.kind = kind,
            .id = delivery.id().str(),
            .sequence = delivery.sequence().value,
            .shard = delivery.shard().value,
            .epoch = delivery.epoch().value,
            .attempt = delivery.attempt(),
            .process = getpid()};
  }

  const Journal& notes_;
  bool early_;
  std::chrono::microseconds goes_on_for_;
};

}  // namespace sagabox::crash
