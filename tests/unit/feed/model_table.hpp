#pragma once

#include <sagabox/id.hpp>
#include <sagabox/spi/feed.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sagabox::feed::testing {

inline BootTime at(Duration since) { return BootTime{std::chrono::hours(1)} + since; }

inline spi::Horizon horizon(const std::vector<std::uint64_t>& in_progress, std::uint64_t next) {
  spi::Horizon made;
  for (const auto id : in_progress) made.in_progress.push_back(TransactionId{id});
  made.next = TransactionId{next};
  return made;
}

/// One lane of one shard in a database where transactions draw sequences when they write and
/// commit when they like. Producers serialise a key, as those that hold its row lock do.
class ModelTable {
 public:
  struct Open {
    std::vector<std::uint64_t> drawn;
    std::set<std::string> keys;
    BootTime begun{};
  };

  std::uint64_t begin(BootTime now) {
    open_[next_transaction_].begun = now;
    return next_transaction_++;
  }
  /// False: another open transaction holds the key.
  bool write(std::uint64_t transaction, const std::string& key) {
    for (const auto& [id, other] : open_) {
      if (id != transaction && other.keys.contains(key)) return false;
    }
    auto& writer = open_.at(transaction);
    writer.drawn.push_back(next_sequence_);
    if (!key.empty()) writer.keys.insert(key);
    key_of_[next_sequence_++] = key;
    return true;
  }
  void commit(std::uint64_t transaction) {
    for (const auto sequence : open_.at(transaction).drawn) {
      pending_.insert(sequence);
      committed_.insert(sequence);
    }
    open_.erase(transaction);
  }
  void abort(std::uint64_t transaction) { open_.erase(transaction); }
  /// Settled: no read begun from now on shows it.
  void remove(std::uint64_t sequence) { pending_.erase(sequence); }

  struct Page {
    std::vector<std::uint64_t> rows;
    bool exhausted = true;
    spi::Horizon horizon;
  };
  [[nodiscard]] Page read(Sequence after, std::size_t rows_max) const {
    Page page;
    for (auto at = pending_.upper_bound(after.value); at != pending_.end(); ++at) {
      if (page.rows.size() == rows_max) {
        page.exhausted = false;
        break;
      }
      page.rows.push_back(*at);
    }
    for (const auto& [id, open] : open_) page.horizon.in_progress.push_back(TransactionId{id});
    page.horizon.next = TransactionId{next_transaction_};
    return page;
  }

  [[nodiscard]] const std::map<std::uint64_t, Open>& open() const { return open_; }
  [[nodiscard]] const std::set<std::uint64_t>& committed() const { return committed_; }
  [[nodiscard]] const std::set<std::uint64_t>& pending() const { return pending_; }
  [[nodiscard]] const std::string& key_of(std::uint64_t sequence) const {
    return key_of_.at(sequence);
  }

 private:
  std::map<std::uint64_t, Open> open_;
  std::set<std::uint64_t> pending_;
  std::set<std::uint64_t> committed_;
  std::map<std::uint64_t, std::string> key_of_;
  std::uint64_t next_transaction_ = 1;
  std::uint64_t next_sequence_ = 1;
};

}  // namespace sagabox::feed::testing
