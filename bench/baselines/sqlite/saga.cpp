#include "bench/baselines/sqlite/saga.hpp"

#include "bench/baselines/sqlite/link.hpp"
#include "bench/measure.hpp"

#include <sagabox/payload.hpp>
#include <sagabox/time.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace sagabox::bench::by_hand::sqlite {
namespace {

/// What the store has; the default of SQLite is 1000.
constexpr int checkpoint_pages_of_store = 4096;

std::int64_t microseconds_now() { return system_clock().wall_now().time_since_epoch().count(); }

class SagaLoop {
 public:
  SagaLoop(const std::string& path, const SagaText& text)
      : link_(path, checkpoint_pages_of_store),
        text_(text),
        begin_(link_.prepare("BEGIN IMMEDIATE")),
        commit_(link_.prepare("COMMIT")),
        start_(link_.prepare("INSERT INTO sagabox_saga_inbox (definition) VALUES ('bench')")),
        read_(link_.prepare("SELECT seq, saga FROM sagabox_saga_inbox WHERE definition = 'bench' "
                            "ORDER BY seq LIMIT ?1")),
        take_(link_.prepare("DELETE FROM sagabox_saga_inbox WHERE seq = ?1")),
        insert_(link_.prepare(R"sql(
INSERT INTO sagabox_saga (id, tenant, definition, definition_version, state, quarantined, version,
                          due, key, isolate, started_at, changed_at, body)
VALUES (?1, 'default', 'bench', 1, 'running', 0, 1, ?2, '', '', ?2, ?2, ?3)
)sql")),
        step_(link_.prepare("UPDATE sagabox_saga SET version = version + 1, due = ?2, "
                            "changed_at = ?2, body = ?3 WHERE id = ?1")),
        end_(link_.prepare("UPDATE sagabox_saga SET version = version + 1, due = NULL, "
                           "changed_at = ?2, ended_at = ?2, state = 'completed', body = ?3 "
                           "WHERE id = ?1")),
        note_(link_.prepare("INSERT INTO sagabox_saga_history (saga, number, at, event, step, "
                            "detail, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")) {
    if (text.history.size() != 5) throw std::runtime_error("a saga of ours has another history");
  }

  void start() { start_.run(); }

  /// How many it took from start to end; 0: none are left.
  std::int64_t run(int batch) {
    begin_.run();
    const auto ids = begin_sagas(batch);
    commit_.run();
    for (const std::size_t number : {2, 3}) {
      begin_.run();
      for (const auto& id : ids) {
        step_.text(1, id).integer(2, microseconds_now()).text(3, text_.body).run();
        note(id, number);
      }
      commit_.run();
    }
    begin_.run();
    for (const auto& id : ids) {
      end_.text(1, id).integer(2, microseconds_now()).text(3, text_.body).run();
      note(id, 4);
      note(id, 5);
    }
    commit_.run();
    return static_cast<std::int64_t>(ids.size());
  }

 private:
  std::vector<std::string> begin_sagas(int batch) {
    std::vector<std::pair<std::int64_t, std::string>> taken;
    read_.integer(1, batch);
    while (read_.step()) {
      const auto* const saga = sqlite3_column_text(read_.get(), 1);
      taken.emplace_back(sqlite3_column_int64(read_.get(), 0), reinterpret_cast<const char*>(saga));
    }
    read_.reset();
    std::vector<std::string> ids;
    for (auto& [seq, id] : taken) {
      take_.integer(1, seq).run();
      insert_.text(1, id).integer(2, microseconds_now()).text(3, text_.body).run();
      note(id, 1);
      ids.push_back(std::move(id));
    }
    return ids;
  }

  void note(const std::string& id, std::size_t number) {
    const auto& line = text_.history[number - 1];
    const auto digest = sha256(id);
    const std::string hash(reinterpret_cast<const char*>(digest.data()), digest.size());
    note_.text(1, id).integer(2, static_cast<std::int64_t>(number)).integer(3, microseconds_now());
    note_.text(4, line.event).text(5, line.step).text(6, line.detail).blob(7, hash).run();
  }

  Link link_;
  const SagaText& text_;
  Statement begin_;
  Statement commit_;
  Statement start_;
  Statement read_;
  Statement take_;
  Statement insert_;
  Statement step_;
  Statement end_;
  Statement note_;
};

}  // namespace

void start_sagas(const std::string& path, std::int64_t count) {
  Link link(path);
  link.sql(
      fmt::format("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
                  "INSERT INTO sagabox_saga_inbox (definition) SELECT 'bench' FROM n",
                  count));
}

double saga_loop(const std::string& path, const SagaText& text, std::int64_t count, int batch) {
  SagaLoop loop(path, text);
  std::int64_t done = 0;
  const auto begin = Steady::now();
  while (const auto some = loop.run(batch)) done += some;
  const auto took = seconds_since(begin);
  if (done != count) throw std::runtime_error("sagas by hand were lost");
  return static_cast<double>(count) / took;
}

std::vector<double> saga_commits(const std::string& path, const SagaText& text,
                                 std::uint32_t count) {
  SagaLoop loop(path, text);
  std::vector<double> taken;
  for (std::uint32_t number = 0; number < count; ++number) {
    const auto begin = Steady::now();
    loop.start();
    if (loop.run(1) != 1) throw std::runtime_error("a saga by hand was lost");
    taken.push_back(seconds_since(begin) * 1e6);
  }
  return taken;
}

}  // namespace sagabox::bench::by_hand::sqlite
