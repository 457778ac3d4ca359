// Runs roles of the delivery hub until SIGTERM: file= or url= schema=, roles=router,worker name=
// key=
#include "crash/settings.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>
#include <sagabox/transports/http.hpp>

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;

Result<std::unique_ptr<Store>> open_given(const Settings& given) {
  const auto file = given.text("file");
  if (!file.empty()) return sqlite::open(file, {.lock_max = std::chrono::minutes(1)});
  return postgres::open(given.text("url"), {.schema = given.text("schema")});
}

std::set<HubRole> roles_in(const std::string& text) {
  std::set<HubRole> roles;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    roles.insert(hub_role_from_name(word).value());
  }
  return roles;
}

int run(const Settings& given) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  // Before any thread, so that the signal is left to this one.
  pthread_sigmask(SIG_BLOCK, &end, nullptr);
  const auto store = patiently([&] { return open_given(given); });
  const auto log = stderr_log({.level = LogLevel::error});
  HubOptions options;
  options.roles = roles_in(given.text("roles"));
  options.name = given.text("name");
  options.secret_key = given.text("key");
  options.lease = milliseconds(1500);
  options.poll_interval = milliseconds(20);
  options.drain_timeout = milliseconds(1500);
  options.breaker.probe_min = milliseconds(20);
  options.breaker.probe_max = milliseconds(200);
  options.transports.emplace("http", http::open({.allow = {"127.0.0.1"}}).value());
  options.log = log.get();
  auto hub = patiently([&] { return Hub::create(*store, options); });
  hub.start().value();
  int signal = 0;
  sigwait(&end, &signal);
  hub.stop().value();
  for (const auto& finding : hub.findings()) {
    std::cerr << finding.delivery.str() << ": " << finding.text << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace sagabox::crash

int main(int count, char** arguments) {
  try {
    return sagabox::crash::run(sagabox::crash::Settings(count, arguments));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
