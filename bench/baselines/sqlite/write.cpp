#include "bench/baselines/sqlite/write.hpp"

#include "bench/measure.hpp"
#include "bench/workload.hpp"

#include <sagabox/time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace sagabox::bench::by_hand::sqlite {
namespace {

/// Places and ids that grow, counted in the one process that writes.
std::int64_t next_number() {
  static std::atomic<std::int64_t> last{0};
  return ++last;
}

/// The normal lane; see src/stores/sqlite/places.hpp.
constexpr std::int64_t first_place = std::int64_t{3} << 45;

std::int64_t now() { return system_clock().wall_now().time_since_epoch().count(); }

}  // namespace

MessageInsert::MessageInsert(Link& link)
    : statement_(link.prepare(R"sql(
INSERT INTO default_pending (
  place, id, written_at, tenant, topic, aggregate_type, key, priority, is_json, content_type,
  occurred_at, payload)
VALUES (?1, ?2, ?3, 'default', ?4, '__GLOBAL__', ?5, 1, 1, 'application/json', ?3, ?6)
)sql")) {}

void MessageInsert::run(std::int64_t number) {
  const auto next = next_number();
  const auto id = fmt::format("01JHAND{:019}", next);
  const auto of_key = key_of(number);
  const auto body = payload_of(number);
  statement_.integer(1, first_place + next).text(2, id).integer(3, now()).text(4, topic);
  statement_.text_or_null(5, of_key).blob(6, body).run();
}

OrderClient::OrderClient(const std::string& path, int number, int checkpoint_pages)
    : link_(path, checkpoint_pages),
      begin_(link_.prepare("BEGIN IMMEDIATE")),
      order_(link_.prepare("INSERT INTO bench_orders (id, what) VALUES (?1, ?2)")),
      message_(link_),
      commit_(link_.prepare("COMMIT")),
      number_(std::int64_t{number} * 1'000'000'000) {}

void OrderClient::begin_with_order() {
  begin_.run();
  order_.integer(1, ++number_).text(2, "two chairs").run();
}

double insert_batches(const BatchLoad& load) {
  Link link(load.path, load.checkpoint_pages);
  auto begin = link.prepare("BEGIN IMMEDIATE");
  auto commit = link.prepare("COMMIT");
  MessageInsert message(link);
  const auto start = Steady::now();
  for (std::int64_t first = 0; first < load.rows; first += load.batch) {
    begin.run();
    const auto end = std::min<std::int64_t>(load.rows, first + load.batch);
    for (auto number = first; number < end; ++number) message.run(number);
    commit.run();
  }
  return static_cast<double>(load.rows) / seconds_since(start);
}

}  // namespace sagabox::bench::by_hand::sqlite
