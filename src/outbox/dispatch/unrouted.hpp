#pragma once

#include "outbox/dispatch/registry.hpp"

#include <sagabox/id.hpp>
#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/spi/gate.hpp>
#include <sagabox/time.hpp>
#include <sagabox/unrouted_topic.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// Keeps back messages whose topic has no listener and no route here, in classes of their own,
/// above whatever else keeps messages back. A message goes, and is dead, when it has waited for the
/// grace time; that is counted from when it could go, by its row, so that no restart and no
/// take-over prolongs it. Thread-safe.
class Unrouted final : public spi::Gate {
 public:
  struct Options {
    bool waits = true;  ///< false: nothing is kept back, such messages are dead at once
    Duration grace = std::chrono::hours(1);
  };
  /// `beneath` (null: nothing), `sink` (null: none) and the others outlive it.
  struct Parts {
    const Registry& registry;
    const spi::Sink* sink = nullptr;
    const spi::Gate* beneath = nullptr;
    const TableName& table;
    const Clock& clock;
    Logger& log;
  };
  Unrouted(Parts parts, const Options& options);

  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message& message) const override;
  [[nodiscard]] bool closed(spi::ClassId id) const override;
  [[nodiscard]] bool samples(spi::ClassId id) const override;
  /// Remembers the topic where it says yes.
  [[nodiscard]] bool holds(spi::ClassId id, const Message& message, WallTime since) const override;

  /// Until when a message waits for a route that could go since then; nullopt if it has one, or has
  /// waited long enough.
  [[nodiscard]] std::optional<WallTime> waits_until(const Message& message, WallTime since) const;

  /// While it exists, the classes of topics without route are open: `reopen` takes up what was
  /// passed over, and `holds` decides for each message anew.
  class Opening {
   public:
    explicit Opening(Unrouted& of) : of_(of) { of_.begin_opening(); }
    ~Opening() { of_.openings_.fetch_sub(1); }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    Unrouted& of_;
  };
  /// Whether what waits is to be looked at again: routes have changed, a message has waited long
  /// enough, or operators may have taken messages away.
  [[nodiscard]] bool opening_due();
  /// The same, because of other routes only.
  [[nodiscard]] bool routes_changed() const;

  /// Topics of which messages wait here, those with the oldest first.
  [[nodiscard]] std::vector<UnroutedTopic> topics(std::size_t topics_max) const;
  [[nodiscard]] std::size_t count() const;

 private:
  using Name = std::pair<std::string, std::string>;  // aggregate type and topic
  struct Seen {
    WallTime since{};
    bool fresh = false;        ///< a message was held back since the last opening
    WallTime missing_since{};  ///< otherwise: when that was
  };
  [[nodiscard]] bool known(const Message& message) const;
  /// When the grace time ends of a message that could go since then.
  [[nodiscard]] WallTime ends(WallTime since) const;
  void note(const Message& message, WallTime since) const;
  void begin_opening();
  /// Topics of which no message is held back any more.
  void forget_gone(WallTime now);

  Parts parts_;
  Options options_;
  std::atomic<int> openings_{0};
  std::atomic<std::uint64_t> routes_seen_;
  /// The listener that was met first: many tables have one only, and each message is asked for.
  mutable std::atomic<const Route*> first_route_{nullptr};

  mutable std::mutex mutex_;  // of all below
  mutable std::map<Name, Seen> seen_;
  WallTime opened_at_{};
};

}  // namespace sagabox::outbox
