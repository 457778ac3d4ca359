#pragma once

#include "conformance/transports/far_side.hpp"

#include <sagabox/spi/transport.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::testing {

/// In the payload of every message that the suite numbers: an error that shows it shows a payload.
inline constexpr std::string_view payload_marker = "never-in-an-error-7f3a";

/// Notes what was handed over to a transport and every result that came of it, and says what a
/// transport must never do. Thread-safe.
class OutTray final : public spi::SendResults {
 public:
  /// How long a result may take at most where nothing is wrong.
  static constexpr Duration patience = std::chrono::seconds(150);
  /// How much later than its deadline a result may come: no measure of speed, only of whether the
  /// deadline is heeded at all on a machine that hardly runs.
  static constexpr Duration slack = std::chrono::seconds(60);

  using Kind = spi::SendResult::Kind;
  struct Item {
    spi::Parcel parcel;
    std::uint64_t handed_over = 0;  ///< when, counted in what this tray has seen
    std::uint64_t answered = 0;     ///< 0: not yet
    std::uint32_t results = 0;
    spi::SendResult result;  ///< the first
    BootTime at{};
  };

  /// Before `send`: results may come during it.
  void hand_over(std::span<const spi::Parcel> parcels);
  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override;
  /// From now on a result is one too many.
  void shut();

  /// False when `timeout` came first.
  [[nodiscard]] bool wait_for_all(Duration timeout = patience);
  [[nodiscard]] bool wait_for_results(std::size_t count, Duration timeout = patience);
  /// Until no more than so many are under way.
  [[nodiscard]] bool wait_for_room(std::size_t under_way_max, Duration timeout = patience);
  [[nodiscard]] bool wait_for(Kind kind, std::size_t count, Duration timeout = patience);

  [[nodiscard]] spi::SendResult result(spi::Ticket ticket) const;
  [[nodiscard]] std::size_t count(Kind kind) const;
  /// Answered, and not delivered.
  [[nodiscard]] std::size_t failures() const;
  [[nodiscard]] std::vector<spi::Parcel> parcels(Kind kind) const;
  /// How many of each kind, with an error of each: for a test to say what it found.
  [[nodiscard]] std::string summary() const;

  /// What is wrong whatever a test is about: results lost, doubled, late, after `shut` or of
  /// parcels unknown; failures that do not say why, and errors that show a payload.
  [[nodiscard]] std::vector<std::string> problems() const;
  /// A parcel was delivered though one before it, of its key and address, failed while it was
  /// under way and is not among those that arrived. Keys must belong to one thread each.
  [[nodiscard]] std::vector<std::string> overtakings(const std::vector<Arrived>& arrived) const;

 private:
  template <class Done>
  [[nodiscard]] bool wait(const Done& done, Duration timeout);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<spi::Ticket, Item> items_;
  std::uint64_t seen_ = 0;
  std::size_t answered_ = 0;
  std::map<Kind, std::size_t> counts_;
  bool shut_ = false;
  std::vector<std::string> offences_;
};

std::string_view kind_name(spi::SendResult::Kind kind);

}  // namespace sagabox::testing
