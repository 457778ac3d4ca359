#include "support/mosquitto_server.hpp"

#include "support/server_process.hpp"

#include <unistd.h>

#include <fstream>

namespace sagabox::testing {
namespace {

std::string mosquitto_program() { return program_path("mosquitto"); }

}  // namespace

std::string MosquittoServer::missing() {
  return mosquitto_program().empty() ? "Mosquitto is not installed (Debian package mosquitto)" : "";
}

MosquittoServer::MosquittoServer(const std::vector<std::string>& settings)
    : server_({}), problem_(missing()) {
  if (!problem_.empty()) return;
  server_ = ScratchServer::make("mosquitto", getpid());
  port_ = free_port();
  const auto& folder = server_.folder();
  std::ofstream(folder / "acl") << "topic readwrite #\ntopic deny refused/#\n";
  std::ofstream config(folder / "mosquitto.conf");
  config << "listener " << port_ << " 127.0.0.1\nuser root\nallow_anonymous true\n"
         << "acl_file " << (folder / "acl").string() << "\npersistence true\n"
         << "persistence_location "
         << folder.string()
         // Not 0 for no limit: 2.0.11 then closes the connection of a client whose message it
         // refuses.
         << "/\nmax_queued_messages 1000000\n";
  for (const auto& line : settings) config << line << '\n';
  config.close();
  start();
}

void MosquittoServer::start() {
  server_.run({mosquitto_program(), "-c", (server_.folder() / "mosquitto.conf").string()});
  if (!wait_for_port(port_)) {
    problem_ = "Mosquitto did not start; see " + (server_.folder() / "log").string();
  }
}

}  // namespace sagabox::testing
