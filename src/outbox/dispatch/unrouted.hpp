#pragma once

#include "outbox/dispatch/registry.hpp"

#include <sagabox/id.hpp>
#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/spi/gate.hpp>
#include <sagabox/time.hpp>
#include <sagabox/unrouted_topic.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::outbox {

/// Keeps back messages whose topic has no listener and no route here, in classes of their own,
/// above whatever else keeps messages back. A message goes, and is dead, when it has waited for the
/// grace time; that is counted from when it could go, by its row, or from when this process first
/// missed its topic, if that was later. Restarts prolong it to 24 times the grace time at most.
/// Thread-safe.
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
  /// Whether the class is one of topics without a route.
  [[nodiscard]] static bool is_unrouted(spi::ClassId id);

  /// Whether what waits is to be looked at again: routes have changed, a message has waited long
  /// enough, or operators may have taken messages away. Logs the topics that are new since the last
  /// call, so the caller must hold no lock.
  [[nodiscard]] bool opening_due();
  /// The same, because of other routes only.
  [[nodiscard]] bool routes_changed() const;

  /// Topics of which messages wait here, those with the oldest first.
  [[nodiscard]] std::vector<UnroutedTopic> topics(std::size_t topics_max) const;
  [[nodiscard]] std::size_t count() const;

 private:
  using Name = std::pair<std::string, std::string>;  // aggregate type and topic
  using NameView = std::pair<std::string_view, std::string_view>;
  struct ByName {
    using is_transparent = void;
    static NameView view(const Name& name) { return {name.first, name.second}; }
    static NameView view(const NameView& name) { return name; }
    template <class Left, class Right>
    bool operator()(const Left& left, const Right& right) const {
      return view(left) < view(right);
    }
  };
  /// When this process missed the topics of a class.
  struct Missed {
    WallTime first{};
    WallTime last{};  ///< when `holds` was last called for one of them
  };
  struct Seen {
    spi::ClassId id{};   ///< its own; that of the further topics is shared
    bool shown = false;  ///< a message was held back, and may still wait
    bool logged = false;
    WallTime since{};
    WallTime until{};
    bool fresh = false;        ///< a message was held back since the last opening
    WallTime missing_since{};  ///< otherwise: when that was
  };
  using Topics = std::map<Name, Seen, ByName>;
  [[nodiscard]] bool known(const Message& message) const;
  /// When the grace time ends of a message that could go since then.
  [[nodiscard]] WallTime ends(WallTime since, WallTime missed) const;
  // With `mutex_` locked:
  [[nodiscard]] spi::ClassId class_of_unrouted(const Message& message) const;
  void note(const Message& message, WallTime since, WallTime until) const;
  /// Topics of which no message is held back any more.
  void forget_gone(WallTime now);

  void begin_opening();
  void log_new();

  Parts parts_;
  Options options_;
  std::atomic<int> openings_{0};
  std::atomic<std::uint64_t> routes_seen_;
  /// Listeners met before, by a cheap hash of their topic: every message is checked. An entry never
  /// changes, so that topics with the same hash do not evict each other.
  static constexpr std::size_t known_max = 16;
  mutable std::array<std::atomic<const Route*>, known_max> known_{};

  mutable std::mutex mutex_;  // of all below
  mutable Topics seen_;
  mutable std::map<spi::ClassId, Missed> missed_;
  mutable std::uint64_t classes_made_ = 0;
  mutable std::vector<Name> new_names_;
  WallTime opened_at_{};
};

}  // namespace sagabox::outbox
