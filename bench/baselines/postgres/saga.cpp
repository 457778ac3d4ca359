#include "bench/baselines/postgres/saga.hpp"

#include "bench/baselines/postgres/link.hpp"
#include "bench/baselines/side_by_side.hpp"
#include "bench/measure.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>

namespace sagabox::bench::by_hand {
namespace {

constexpr auto start_sql = R"sql(
INSERT INTO sagabox.saga_inbox (definition, body) VALUES ('bench', '{}')
)sql";

constexpr auto begin_sql = R"sql(
WITH taken AS (
  DELETE FROM sagabox.saga_inbox
  WHERE (definition, shard, seq) IN (
    SELECT definition, shard, seq FROM sagabox.saga_inbox
    WHERE definition = 'bench' ORDER BY shard, seq LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING saga::text
), begun AS (
  INSERT INTO sagabox.saga (id, tenant, definition, definition_version, state, quarantined, version,
                            due, key, isolate, started_at, changed_at, body)
  SELECT saga, 'default', 'bench', 1, 'running', false, 1, now(), '', '', now(), now(), $2
  FROM taken
), noted AS (
  INSERT INTO sagabox.saga_history (saga, number, at, event, step, detail, hash)
  SELECT saga, 1, now(), $3, $4, $5, sha256(convert_to(saga, 'UTF8')) FROM taken
)
SELECT saga FROM taken
)sql";

constexpr auto step_sql = R"sql(
WITH moved AS (
  UPDATE sagabox.saga
  SET version = version + 1, due = now(), changed_at = now(), body = $2
  WHERE id = ANY ($1::text[])
  RETURNING id
)
INSERT INTO sagabox.saga_history (saga, number, at, event, step, detail, hash)
SELECT id, $3::int8, now(), $4, $5, $6, sha256(convert_to(id, 'UTF8')) FROM moved
)sql";

constexpr auto end_sql = R"sql(
WITH moved AS (
  UPDATE sagabox.saga
  SET version = version + 1, due = NULL, changed_at = now(), ended_at = now(), state = 'completed',
      body = $2
  WHERE id = ANY ($1::text[])
  RETURNING id
)
INSERT INTO sagabox.saga_history (saga, number, at, event, step, detail, hash)
SELECT id, line.number, now(), line.event, line.step, line.detail, sha256(convert_to(id, 'UTF8'))
FROM moved, (VALUES (4, $3, $4, $5), (5, $6, $7, $8)) AS line(number, event, step, detail)
)sql";

Values& add(Values& values, const HistoryLine& line) {
  return values.text(line.event).text(line.step).text(line.detail);
}

class SagaLoop {
 public:
  SagaLoop(const std::string& url, const SagaText& text) : link_(url), text_(text) {
    if (text.history.size() != 5) throw std::runtime_error("a saga of ours has another history");
    link_.prepare("start", start_sql);
    link_.prepare("begin", begin_sql);
    link_.prepare("step", step_sql);
    link_.prepare("end", end_sql);
  }

  void start() { (void)link_.call("start", Values()); }

  /// How many it took from start to end; 0: none are left.
  std::int64_t run(int batch) {
    Values begin;
    begin.int8(batch).text(text_.body);
    const auto begun = link_.call("begin", add(begin, text_.history[0]));
    std::vector<std::string> ids;
    for (int row = 0; row < PQntuples(begun.get()); ++row) {
      ids.emplace_back(PQgetvalue(begun.get(), row, 0));
    }
    if (ids.empty()) return 0;
    const auto wrote = [&](const Answer& answer, std::size_t each) {
      if (rows_changed(answer.get()) != static_cast<std::int64_t>(ids.size() * each)) {
        throw std::runtime_error("sagas by hand were lost");
      }
    };
    for (const int number : {2, 3}) {
      Values step;
      step.texts(ids).text(text_.body).int8(number);
      wrote(link_.call("step", add(step, text_.history[static_cast<std::size_t>(number) - 1])), 1);
    }
    Values end;
    end.texts(ids).text(text_.body);
    wrote(link_.call("end", add(add(end, text_.history[3]), text_.history[4])), 2);
    return static_cast<std::int64_t>(ids.size());
  }

 private:
  Link link_;
  const SagaText& text_;
};

}  // namespace

double saga_loop(const SagaLoopLoad& load) {
  std::vector<std::unique_ptr<SagaLoop>> loops;
  for (int number = 0; number < load.connections; ++number) {
    loops.push_back(std::make_unique<SagaLoop>(load.url, load.text));
  }
  std::atomic<std::int64_t> done{0};
  const auto took = seconds_side_by_side(load.connections, [&](int number) {
    auto& loop = *loops[static_cast<std::size_t>(number)];
    while (const auto some = loop.run(load.batch)) done += some;
  });
  if (done != load.sagas) throw std::runtime_error("sagas by hand were lost");
  return static_cast<double>(load.sagas) / took;
}

std::vector<double> saga_commits(const std::string& url, const SagaText& text,
                                 std::uint32_t count) {
  SagaLoop loop(url, text);
  std::vector<double> taken;
  for (std::uint32_t number = 0; number < count; ++number) {
    const auto begin = Steady::now();
    loop.start();
    if (loop.run(1) != 1) throw std::runtime_error("a saga by hand was lost");
    taken.push_back(seconds_since(begin) * 1e6);
  }
  return taken;
}

}  // namespace sagabox::bench::by_hand
