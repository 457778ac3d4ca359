#include "bench/baselines/postgres/write.hpp"

#include "bench/measure.hpp"
#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sagabox::bench::by_hand {
namespace {

/// Ids that grow, as anybody would make them who cares for his index.
std::string next_id() {
  static std::atomic<std::uint64_t> last{0};
  return fmt::format("01JHAND{:019}", ++last);
}

}  // namespace

OrderClient::OrderClient(const std::string& url, int number)
    : link_(url), number_(std::int64_t{number} * 1'000'000'000) {
  link_.prepare("begin", "BEGIN");
  link_.prepare("commit", "COMMIT");
  link_.prepare("order", "INSERT INTO bench_orders (id, what) VALUES ($1::int8, $2::text)");
  link_.prepare("message",
                "INSERT INTO sagabox.default_outbox (id, topic, key, payload) VALUES ($1::text, "
                "$2::text, nullif($3::text, ''), $4::bytea)");
}

void OrderClient::begin_with_order() {
  link_.call("begin", {});
  link_.call("order", Values().int8(++number_).text("two chairs"));
}

void OrderClient::insert_message() {
  link_.call("message",
             Values().text(next_id()).text(topic).text(key_of(number_)).text(payload_of(number_)));
}

void OrderClient::enqueue_message() {
  if (!knows_function_) {
    link_.prepare("enqueue", "SELECT sagabox.enqueue($1::text, $2::text, nullif($3::text, ''))");
    knows_function_ = true;
  }
  link_.call("enqueue", Values().text(topic).text(payload_of(number_)).text(key_of(number_)));
}

void OrderClient::take_key(const std::string& key) {
  if (!knows_inbox_) {
    link_.prepare("inbox",
                  "INSERT INTO sagabox.inbox (tenant, consumer, key) VALUES ('default', 'bench', "
                  "$1::text) ON CONFLICT DO NOTHING");
    knows_inbox_ = true;
  }
  const auto taken = link_.call("inbox", Values().text(key));
  if (rows_changed(taken.get()) != 1) throw std::runtime_error("a key came twice");
}

void OrderClient::commit() { link_.call("commit", {}); }

double insert_batches(const BatchLoad& load) {
  std::vector<std::unique_ptr<Link>> links;
  for (int number = 0; number < load.connections; ++number) {
    links.push_back(std::make_unique<Link>(load.url));
    links.back()->prepare("batch",
                          "INSERT INTO sagabox.default_outbox (id, topic, key, payload) SELECT "
                          "unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), "
                          "unnest($4::bytea[])");
  }
  std::atomic<std::int64_t> left{load.rows};
  std::vector<std::exception_ptr> failures(links.size());
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < links.size(); ++at) {
    threads.emplace_back([&, at] {
      try {
        for (;;) {
          const auto before = left.fetch_sub(load.batch);
          if (before <= 0) return;
          const auto count = static_cast<std::size_t>(std::min<std::int64_t>(before, load.batch));
          std::vector<std::string> ids(count);
          const std::vector<std::string> topics(count, std::string(topic));
          std::vector<std::string> keys_or_empty(count);
          std::vector<std::string> payloads(count);
          for (std::size_t i = 0; i < count; ++i) {
            const auto number = before - static_cast<std::int64_t>(i);
            ids[i] = next_id();
            keys_or_empty[i] = key_of(number);
            payloads[i] = payload_of(number);
          }
          links[at]->call(
              "batch",
              Values().texts(ids).texts(topics).nullable_texts(keys_or_empty).byteas(payloads));
        }
      } catch (...) {
        failures[at] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto took = seconds_since(begin);
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return static_cast<double>(load.rows) / took;
}

}  // namespace sagabox::bench::by_hand
