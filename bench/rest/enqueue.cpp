#include "bench/baselines/postgres/write.hpp"
#include "bench/duel.hpp"
#include "bench/postgres/world.hpp"
#include "bench/rest/bench.hpp"
#include "bench/rest/load.hpp"
#include "bench/workload.hpp"
#include "server/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sagabox::bench::rest {
namespace {

using postgres::world;

constexpr int connections = 64;
constexpr int batch_messages = 100;

std::string message(std::int64_t number) {
  const auto key = key_of(number);
  return fmt::format(R"({{"topic":"{}",{}"payload":{}}})", topic,
                     key.empty() ? "" : fmt::format(R"("key":"{}",)", key), payload_of(number));
}

std::string request(const std::string& path, const std::string& body) {
  return fmt::format(
      "POST /v1/tables/default/{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      path, body.size(), body);
}

std::string one_message(std::int64_t number) { return request("messages", message(number)); }

std::string many_messages(std::int64_t number) {
  std::string body = R"({"messages":[)";
  for (int at = 0; at < batch_messages; ++at) {
    if (at > 0) body += ',';
    body += message(number * batch_messages + at);
  }
  return request("messages/batch", body + "]}");
}

void measure(const std::string& name, const Size& size, int batch, Report& report) {
  const auto store = world().open();
  auto outbox = Outbox::writer_only(*store, {.sequences = true}).value();
  server::ServerOptions options;
  options.api.tables = {{.table = TableName::parse("default").value(),
                         .store = store.get(),
                         .outbox = server::always(outbox)}};
  options.listener.port = 0;
  const auto server = server::Server::start(std::move(options)).value();
  // One message a request and a commit each by hand is slow: a fifth of the rows says enough.
  const auto rows = std::max<std::int64_t>(batch == 1 ? size.rows / 5 : size.rows, connections);
  const auto requests = rows / batch;
  const auto ours = [&] {
    world().clear();
    const auto begin = Steady::now();
    send_all({.port = server->port(),
              .connections = connections,
              .requests = requests,
              .request = batch == 1 ? one_message : many_messages});
    const auto took = seconds_since(begin);
    world().require(requests * batch, 0);
    return static_cast<double>(requests * batch) / took;
  };
  const auto by_hand = [&] {
    world().clear();
    const auto rate = by_hand::insert_batches({.url = world().url(),
                                               .rows = requests * batch,
                                               .batch = batch,
                                               .connections = connections});
    world().require(requests * batch, 0);
    return rate;
  };
  const auto result = duel(size.repeats, ours, by_hand);
  report.add({.name = name,
              .value = result.ours,
              .unit = "messages/s",
              .baseline = result.baseline,
              .baseline_name =
                  fmt::format("hand-written INSERT of {}, {} connections", batch, connections),
              .goal = Goal{Goal::Kind::ratio_at_least, 0.80}});
}

}  // namespace

void enqueue(const Size& size, Report& report) { measure("rest.enqueue", size, 1, report); }

void enqueue_batch(const Size& size, Report& report) {
  measure("rest.enqueue_batch", size, batch_messages, report);
}

}  // namespace sagabox::bench::rest
