#include "bench/baselines/sqlite/drain.hpp"

#include "bench/baselines/sqlite/link.hpp"
#include "bench/measure.hpp"

#include <stdexcept>
#include <vector>

namespace sagabox::bench::by_hand::sqlite {
namespace {

constexpr auto read_sql = R"sql(
SELECT place, id, tenant, topic, aggregate_type, aggregate_id, key, attempts, content_type, headers,
       occurred_at, traceparent, tracestate, request_id, correlation_id, digest, payload
FROM default_pending WHERE place > ?1 ORDER BY place LIMIT ?2
)sql";
constexpr int row_columns = 17;

const std::string carried =
    "seq, id, attempts, failed_for_good, replays, written_at, tenant, topic, aggregate_type, "
    "aggregate_id, key, priority, is_json, digest, content_type, headers, occurred_at, not_before, "
    "traceparent, tracestate, request_id, correlation_id, payload";

/// ?1 and ?2: the places from and to.
std::string where(Settle settle) {
  return settle == Settle::range ? " WHERE place BETWEEN ?1 AND ?2" : " WHERE place = ?1";
}

class Owner {
 public:
  explicit Owner(const DrainLoad& load)
      : load_(load),
        link_(load.path, load.checkpoint_pages),
        read_(link_.prepare(read_sql)),
        begin_(link_.prepare("BEGIN IMMEDIATE")),
        archive_(link_.prepare("INSERT INTO default_archive (ended_at, " + carried +
                               ") SELECT ?3, " + carried + " FROM default_pending" +
                               where(load.settle))),
        remove_(link_.prepare("DELETE FROM default_pending" + where(load.settle))),
        commit_(link_.prepare("COMMIT")) {}

  std::int64_t run() {
    std::int64_t settled = 0;
    while (read()) settled += settle();
    return settled;
  }

 private:
  bool read() {
    read_.integer(1, places_.empty() ? 0 : places_.back()).integer(2, load_.batch);
    places_.clear();
    while (read_.step()) {
      handle(read_.get());
      places_.push_back(sqlite3_column_int64(read_.get(), 0));
    }
    read_.reset();
    return !places_.empty();
  }

  /// What the handler would be called with. The sum keeps the compiler honest.
  void handle(sqlite3_stmt* row) {
    for (int column = 1; column < row_columns; ++column) {
      bytes_ += static_cast<std::size_t>(sqlite3_column_bytes(row, column));
    }
  }

  std::int64_t settle() {
    std::int64_t settled = 0;
    begin_.run();
    if (load_.settle == Settle::range) {
      settled = move(places_.front(), places_.back());
    } else {
      for (const auto place : places_) settled += move(place, place);
    }
    commit_.run();
    return settled;
  }

  std::int64_t move(std::int64_t from, std::int64_t to) {
    const bool range = load_.settle == Settle::range;
    if (load_.retain) {
      archive_.integer(1, from).integer(3, 1'700'000'000'000'000);
      if (range) archive_.integer(2, to);
      archive_.run();
    }
    remove_.integer(1, from);
    if (range) remove_.integer(2, to);
    remove_.run();
    return link_.changes();
  }

  const DrainLoad load_;
  Link link_;
  Statement read_;
  Statement begin_;
  Statement archive_;
  Statement remove_;
  Statement commit_;
  std::vector<std::int64_t> places_;
  std::size_t bytes_ = 0;
};

}  // namespace

double owner_loop(const DrainLoad& load) {
  Owner owner(load);
  const auto begin = Steady::now();
  const auto settled = owner.run();
  const auto took = seconds_since(begin);
  if (settled != load.rows) {
    throw std::runtime_error("the hand-written loop settled " + std::to_string(settled) + " of " +
                             std::to_string(load.rows));
  }
  return static_cast<double>(load.rows) / took;
}

}  // namespace sagabox::bench::by_hand::sqlite
