#include "support/nats_server.hpp"

#include <fstream>

namespace sagabox::testing {

NatsServer::NatsServer(std::string configuration) {
  if (program_path("nats-server").empty()) {
    problem_ = "nats-server is not installed (Debian package nats-server)";
    return;
  }
  folder_ = scratch_folder("nats");
  std::ofstream(folder_ / "extra.conf") << configuration << '\n';
  // Another process may take the port first.
  for (int attempt = 0; attempt < 5; ++attempt) {
    port_ = free_port();
    problem_.clear();
    start();
    if (problem_.empty()) return;
  }
}

void NatsServer::start() {
  std::ofstream(folder_ / "server.conf")
      << "listen: 127.0.0.1:" << port_ << "\njetstream { store_dir: \""
      << (folder_ / "data").string() << "\" }\n"
      << "include ./extra.conf\n";
  process_.start({program_path("nats-server"), "-c", (folder_ / "server.conf").string()},
                 folder_ / "log");
  if (wait_for_port(port_) && process_.runs()) return;
  process_.stop();
  problem_ = "nats-server did not start; see " + (folder_ / "log").string();
}

std::string NatsServer::url() const { return "nats://127.0.0.1:" + std::to_string(port_); }

}  // namespace sagabox::testing
