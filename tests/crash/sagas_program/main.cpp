// what=orchestrator: runs trips until SIGTERM: file= or url= schema=, ports=
// what=participant: does and undoes one step, with a book of its own: book= port= seed= and, of a
// thousand calls: busy= late= drops= dies= accepts= (then also the store); broken=forgets_keys
#include "crash/sagas_program/participant.hpp"
#include "crash/sagas_trip.hpp"
#include "crash/settings.hpp"

#include <sagabox/saga.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>
#include <sagabox/transports/http.hpp>

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;

Result<std::unique_ptr<Store>> open_given(const Settings& given) {
  const auto file = given.text("file");
  if (!file.empty()) return sqlite::open(file, {.lock_max = std::chrono::minutes(1)});
  return postgres::open(given.text("url"), {.schema = given.text("schema")});
}

std::vector<std::uint16_t> ports_in(const std::string& text) {
  std::vector<std::uint16_t> ports;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    ports.push_back(static_cast<std::uint16_t>(std::stoul(word)));
  }
  return ports;
}

int orchestrate(const Settings& given) {
  const auto store = patiently([&] { return open_given(given); });
  const auto log = stderr_log({.level = LogLevel::error});
  SagaOptions options;
  options.lease = milliseconds(1500);
  options.drain_timeout = milliseconds(500);
  options.poll_interval = milliseconds(20);
  options.breaker.probe_min = milliseconds(20);
  options.breaker.probe_max = milliseconds(200);
  options.transports.emplace("http", http::open({.allow = {"127.0.0.1"}}).value());
  options.log = log.get();
  options.reply_secret = trip_secret;
  auto sagas = patiently([&] { return Sagas::create(*store, options); });
  for (const auto* name : {"travel", "tour"}) {
    const auto definition = trip(name, ports_in(given.text("ports")));
    patiently([&]() -> Result<bool> {
      if (auto defined = sagas.define(definition); !defined.ok()) return defined.error();
      return true;
    });
  }
  sagas.start().value();
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  int signal = 0;
  sigwait(&end, &signal);
  sagas.stop().value();
  for (const auto& finding : sagas.findings()) {
    std::cerr << finding.saga.str() << ": " << finding.text << '\n';
  }
  return 0;
}

int participate(const Settings& given) {
  ParticipantOptions options{.book = given.text("book"),
                             .seed = given.number("seed", 1),
                             .busy = given.number("busy", 0),
                             .late = given.number("late", 0),
                             .accepts = given.number("accepts", 0),
                             .drops = given.number("drops", 0),
                             .dies = given.number("dies", 0),
                             .forgets_keys = given.text("broken") == "forgets_keys"};
  std::unique_ptr<Store> store;
  std::optional<Sagas> sagas;
  if (options.accepts > 0) {
    store = patiently([&] { return open_given(given); });
    sagas = patiently([&] { return Sagas::create(*store, {.reply_secret = trip_secret}); });
    // It counts from when it is stored, whatever becomes of it.
    options.reply = [&](const std::string& token, const std::string& output) {
      return sagas->reply(token, saga_ok(output), milliseconds(0)).ok();
    };
  }
  Participant participant(std::move(options));
  participant.listen(static_cast<std::uint16_t>(given.number("port", 0)));
  return 0;
}

}  // namespace
}  // namespace sagabox::crash

int main(int count, char** arguments) {
  try {
    const sagabox::crash::Settings given(count, arguments);
    if (given.text("what") == "participant") return sagabox::crash::participate(given);
    // Before any thread, so that the end is told to the one that waits for it.
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, nullptr);
    return sagabox::crash::orchestrate(given);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
