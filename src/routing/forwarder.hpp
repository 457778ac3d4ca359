#pragma once

#include "core/slab.hpp"
#include "flow/suspects.hpp"
#include "flow/traffic.hpp"
#include "routing/journey.hpp"
#include "routing/route_table.hpp"

#include <sagabox/router.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace sagabox::routing {

/// Passes messages to transports in turn, and returns their results. It has no thread: `pump` sends
/// what is due; it is called by `deliver` and by the thread of the router. Thread-safe.
class Forwarder final : public spi::SendResults {
 public:
  /// `wake` is called when there is work for `pump` that the calling thread, such as a transport's,
  /// must not do.
  Forwarder(const RouterOptions& options, std::unique_ptr<RouteTable> table,
            std::function<void()> wake);

  [[nodiscard]] const RouteTable& table() const noexcept { return *table_; }
  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message& message) const;
  [[nodiscard]] bool closed(spi::ClassId id) const;
  [[nodiscard]] bool samples(spi::ClassId id) const;

  void join(spi::DispatchResults& results);
  void deliver(std::span<spi::Dispatch> dispatches, spi::DispatchResults& results);
  void recall(spi::DispatchResults& results, std::optional<Shard> shard);
  void leave(spi::DispatchResults& results);

  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override;
  /// Sends messages that may be sent, and returns those that would wait too long.
  void pump();
  /// The next time at which `pump` must be called without an event.
  [[nodiscard]] BootTime wake_at() const;

  [[nodiscard]] std::vector<DestinationState> destinations() const;
  /// The number of tracked messages that were not accepted, at all destinations.
  [[nodiscard]] std::size_t suspects() const;
  [[nodiscard]] std::vector<HeldUp> held_up(const std::string& topic,
                                            const std::string& tenant) const;

 private:
  struct Client {
    spi::DispatchResults* results = nullptr;
    std::size_t open = 0;  ///< dispatches without a result yet
  };
  struct Travelling {
    Journey journey;
    Client* client = nullptr;
  };
  struct Part {
    std::uint64_t journey = 0;
    std::size_t target = 0;
    flow::Traffic::Going going{};
    BootTime sent{};
    bool under_way = false;
    bool probe = false;
  };
  /// A result to be reported without the lock.
  struct Answer {
    Client* client = nullptr;
    spi::Ticket ticket{};
    spi::Dispatched result;
  };
  /// The metrics of one transport, looked up once.
  struct Instruments {
    static constexpr std::size_t results = 7;  ///< number of kinds of results
    std::array<Counter*, results> sends{};
    Histogram* seconds = nullptr;
  };
  struct Destination {
    const Target* target = nullptr;
    Instruments figures{};
    Gauge* down = nullptr;
    std::string last_error{};
    bool known_down = false;
    flow::Suspects suspects{};
  };
  /// The part of one round of `pump` that runs without the lock.
  struct Round {
    std::map<spi::Transport*, std::vector<spi::Parcel>> parcels;
    std::vector<Answer> answers;
    bool opened = false;
    bool more = false;
  };

  [[nodiscard]] Client* client_of(const spi::DispatchResults& results) const;
  void add_destinations(const RouterOptions& options);
  [[nodiscard]] flow::Traffic::Way way(const Route& route, const Target& target,
                                       const std::string& tenant, BootTime now);
  /// The indexes of the valves of a way; the first valve is the transport's.
  static constexpr std::size_t valve_of_route = 1;
  static constexpr std::size_t valve_of_tenant = 2;
  /// "rate of its route"
  static std::string limit_text(const flow::Traffic::Hold& hold);
  /// The way, without the tenant's valve if the tenant has sent nothing yet.
  [[nodiscard]] flow::Traffic::Way known_way(const Route& route, const Target& target,
                                             const std::string& tenant) const;
  /// The name of a tenant's valve.
  [[nodiscard]] std::string valve_name(const std::string& tenant) const;
  [[nodiscard]] std::optional<flow::ValveId> tenant_valve(const std::string& tenant, BootTime now);
  [[nodiscard]] spi::ClassId line_of(const Route& route, const Target& target,
                                     const std::string& tenant) const;
  [[nodiscard]] spi::ClassId class_of(const Route& route, const std::string& tenant) const;
  void set_out(spi::Dispatch& dispatch, const Route& route, Client& client, BootTime now,
               std::vector<Answer>& answers);
  void not_now(Journey& journey, spi::ClassId line, const Target& target, BootTime now) const;
  /// Decides whether the message itself is the cause of a send that was not accepted.
  [[nodiscard]] flow::Suspects::Judged blame(const Message& message, const Part& part,
                                             const Target& target, const spi::SendResult& result,
                                             BootTime now);
  /// Handles the results busy, unreachable and no answer.
  void not_taken(Journey& journey, const Part& part, const Target& target, spi::SendResult&& result,
                 const flow::Suspects::Judged& judged, BootTime now);
  [[nodiscard]] Round round(BootTime now);
  [[nodiscard]] spi::Parcel parcel(std::uint64_t number, Part& part, BootTime now);
  void judge(Journey& journey, const Part& part, const Target& target, spi::SendResult&& result,
             const flow::Suspects::Judged& judged, BootTime now);
  void watch(flow::DestinationId id, const spi::SendResult& result, BootTime sent, BootTime now);
  [[nodiscard]] Instruments figures_of(const std::string& transport) const;
  [[nodiscard]] static Duration wait_for(const Journey& journey, Duration at_least);
  void close_part(std::uint64_t number, std::vector<Answer>& answers);
  void tell(std::vector<Answer>& answers) noexcept;
  void tell_opened() noexcept;
  void publish() { shut_.store(traffic_.shut_lines(), std::memory_order_release); }

  const Clock& clock_;
  Logger& log_;
  Metrics& metrics_;
  Limits tenant_limits_;
  std::map<std::string, Limits, std::less<>> limits_of_tenant_;
  bool by_tenant_;      ///< whether lines are separate for each tenant
  Duration pause_max_;  ///< the limit for requested pauses that no message is blamed for
  std::unique_ptr<RouteTable> table_;
  std::function<void()> wake_;

  mutable std::mutex mutex_;  // protects all members below
  flow::Traffic traffic_;
  std::vector<Destination> destinations_;
  std::map<std::string, flow::ValveId, std::less<>> transport_valves_;
  std::map<std::uint32_t, flow::ValveId> route_valves_;
  std::unordered_map<std::string, flow::ValveId> tenant_valves_;
  /// The lines of routes with several targets, by their class.
  std::unordered_map<std::uint64_t, std::vector<spi::ClassId>> lines_of_class_;
  Slab<Travelling> journeys_;
  Slab<Part> parts_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::condition_variable answered_;
  bool pumping_ = false;
  bool again_ = false;

  std::atomic<std::size_t> shut_{0};
  std::mutex telling_opened_;  // held so that no client leaves during `opened`
};

}  // namespace sagabox::routing
