#include "feed/tracker.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <deque>
#include <vector>

namespace sagabox::feed {
namespace {

enum class Held : std::uint8_t { reserved, in_hand, settled };

struct Settled {
  Sequence sequence;
  ReadTicket last_read;  ///< the newest read that may still return the row
};

struct Reserved {
  Sequence sequence;
  BootTime expires;
};

class InFlightTracker final : public Tracker {
 public:
  ReadTicket read_begun() override {
    reads_out_.push_back(++last_ticket_.value);
    return last_ticket_;
  }

  void read_seen(ReadTicket ticket) override {
    std::erase(reads_out_, ticket.value);
    const auto oldest = reads_out_.empty() ? ~std::uint64_t{0} : reads_out_.front();
    while (!settled_.empty() && settled_.front().last_read.value < oldest) {
      const auto found = held_.find(settled_.front().sequence.value);
      if (found != held_.end() && found->second == Held::settled) held_.erase(found);
      settled_.pop_front();
    }
  }

  bool admit(Sequence sequence) override {
    const auto [found, fresh] = held_.try_emplace(sequence.value, Held::in_hand);
    if (fresh) return true;
    if (found->second != Held::reserved) return false;
    found->second = Held::in_hand;
    return true;
  }

  void settled(Sequence sequence) override {
    if (reads_out_.empty()) {
      held_.erase(sequence.value);
      return;
    }
    held_[sequence.value] = Held::settled;
    settled_.push_back({sequence, last_ticket_});
  }

  void forget(Sequence sequence) override { held_.erase(sequence.value); }

  void reserve(Sequence sequence, BootTime expires) override {
    held_.try_emplace(sequence.value, Held::reserved);
    reservations_.push_back({sequence, expires});
    if (reservations_.size() >= compact_at_) compact();
  }

  bool claim(Sequence sequence) override {
    const auto found = held_.find(sequence.value);
    if (found == held_.end() || found->second != Held::reserved) return false;
    found->second = Held::in_hand;
    return true;
  }

  void cancel(Sequence sequence) override {
    const auto found = held_.find(sequence.value);
    if (found != held_.end() && found->second == Held::reserved) held_.erase(found);
  }

  void expire_reservations(BootTime now) override {
    while (!reservations_.empty() && reservations_.front().expires <= now) {
      cancel(reservations_.front().sequence);
      reservations_.pop_front();
    }
  }

  void clear() override {
    held_.clear();
    settled_.clear();
    reservations_.clear();
  }

  bool in_hand(Sequence sequence) const override {
    const auto found = held_.find(sequence.value);
    return found != held_.end() && found->second == Held::in_hand;
  }

  std::size_t size() const override { return held_.size(); }

 private:
  /// Most reservations are claimed long before they expire.
  void compact() {
    std::erase_if(reservations_, [&](const Reserved& reservation) {
      const auto found = held_.find(reservation.sequence.value);
      return found == held_.end() || found->second != Held::reserved;
    });
    compact_at_ = std::max(compact_at_min, 2 * reservations_.size());
  }

  static constexpr std::size_t compact_at_min = 256;
  std::size_t compact_at_ = compact_at_min;
  boost::unordered_flat_map<std::uint64_t, Held> held_;
  std::deque<Settled> settled_;
  std::deque<Reserved> reservations_;
  std::vector<std::uint64_t> reads_out_;  // ascending
  ReadTicket last_ticket_{};
};

}  // namespace

std::unique_ptr<Tracker> make_tracker() { return std::make_unique<InFlightTracker>(); }

}  // namespace sagabox::feed
