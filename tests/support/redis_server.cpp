#include "support/redis_server.hpp"

#include "support/server_process.hpp"

#include <unistd.h>

namespace sagabox::testing {
namespace {

std::string redis_program() { return program_path("redis-server"); }

}  // namespace

std::string RedisServer::missing() {
  return redis_program().empty() ? "Redis is not installed (Debian package redis-server)" : "";
}

RedisServer::RedisServer(std::vector<std::string> settings)
    : server_({}), settings_(std::move(settings)) {
  problem_ = missing();
  if (!problem_.empty()) return;
  server_ = ScratchServer::make("redis", getpid());
  port_ = free_port();
  start();
}

void RedisServer::start() {
  std::vector<std::string> words{redis_program(),
                                 "--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--dir",
                                 server_.folder(),
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "yes",
                                 "--appendfsync",
                                 "no"};
  words.insert(words.end(), settings_.begin(), settings_.end());
  server_.run(words);
  if (!wait_for_port(port_)) {
    problem_ = "Redis did not start; see " + (server_.folder() / "log").string();
  }
}

}  // namespace sagabox::testing
