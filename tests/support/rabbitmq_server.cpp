#include "support/rabbitmq_server.hpp"

#include "support/certificate.hpp"
#include "support/server_process.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace sagabox::testing {
namespace {

namespace fs = std::filesystem;

constexpr auto rabbitmq_program = "/usr/lib/rabbitmq/bin/rabbitmq-server";

struct Ports {
  std::string node;
  std::string tls;
  std::string peers;  ///< other nodes
  std::string names;  ///< the port mapper of the nodes
};

Ports ports_of(const fs::path& folder) {
  Ports ports;
  std::ifstream(folder / "ports") >> ports.node >> ports.tls >> ports.peers >> ports.names;
  return ports;
}

}  // namespace

std::string RabbitmqServer::missing() {
  return access(rabbitmq_program, X_OK) != 0
             ? "RabbitMQ is not installed (Debian package rabbitmq-server)"
             : "";
}

RabbitmqServer RabbitmqServer::start_new(int watched) {
  RabbitmqServer made{ScratchServer({})};
  made.problem_ = missing();
  if (!made.problem_.empty()) return made;
  made.server_ = ScratchServer::make("rabbitmq", watched);
  const auto& folder = made.server_.folder();
  std::ofstream(folder / "plugins") << "[].\n";
  std::ofstream(folder / "ports") << free_port() << ' ' << free_port() << ' ' << free_port() << ' '
                                  << free_port();
  const auto ports = ports_of(folder);
  const auto ours = Certificate::make(folder, "DNS:localhost");
  std::ofstream(folder / "rabbitmq.conf")
      << "listeners.ssl.1 = 127.0.0.1:" << ports.tls
      << "\nssl_options.cacertfile = " << ours.certificate.string()
      << "\nssl_options.certfile = " << ours.certificate.string()
      << "\nssl_options.keyfile = " << ours.key.string() << '\n';
  made.port_ = static_cast<std::uint16_t>(std::stoi(ports.node));
  if (!made.start()) {
    made.problem_ = "RabbitMQ did not start; see " + (folder / "log").string();
  }
  return made;
}

std::vector<std::string> RabbitmqServer::environment() const {
  const auto& folder = server_.folder();
  const auto ports = ports_of(folder);
  const auto at = [&](const char* name) { return (folder / name).string(); };
  return {"HOME=" + folder.string(), "RABBITMQ_NODENAME=sagabox" + ports.node + "@localhost",
          "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT=" + ports.node,
          "RABBITMQ_DIST_PORT=" + ports.peers, "ERL_EPMD_PORT=" + ports.names,
          "ERL_EPMD_ADDRESS=127.0.0.1", "RABBITMQ_MNESIA_BASE=" + at("mnesia"),
          "RABBITMQ_LOG_BASE=" + at("logs"), "RABBITMQ_CONFIG_FILE=" + at("rabbitmq"),
          "RABBITMQ_ENABLED_PLUGINS_FILE=" + at("plugins"), "RABBITMQ_PID_FILE=" + at("pid"),
          "RABBITMQ_CONF_ENV_FILE=/dev/null",
          // Its busy waiting would occupy the processors of a small machine.
          "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none"};
}

bool RabbitmqServer::start() const {
  const auto names = ports_of(server_.folder()).names;
  server_.run({"sh", "-c", "epmd -port " + names + " & exec " + rabbitmq_program}, environment());
  // It needs longer to start than others.
  for (int patience = 0; patience < 5; ++patience) {
    if (wait_for_port(port_)) return true;
  }
  return false;
}

std::uint16_t RabbitmqServer::tls_port() const {
  return static_cast<std::uint16_t>(std::stoi(ports_of(server_.folder()).tls));
}

fs::path RabbitmqServer::certificate() const { return server_.folder() / "certificate.pem"; }

bool RabbitmqServer::control(const std::vector<std::string>& words) const {
  auto all = words;
  all.insert(all.begin(), "/usr/lib/rabbitmq/bin/rabbitmqctl");
  return server_.run_to_end(all, environment());
}

RabbitmqServer RabbitmqServer::written(const fs::path& file) {
  std::ifstream in(file);
  std::uint16_t port = 0;
  std::string rest;
  if (in >> port && std::getline(in >> std::ws, rest)) {
    RabbitmqServer running{ScratchServer(rest)};
    running.port_ = port;
    return running;
  }
  RabbitmqServer none{ScratchServer({})};
  in.clear();
  in.seekg(0);
  std::getline(in, none.problem_);
  if (none.problem_.empty()) none.problem_ = "no RabbitMQ runs: nothing in " + file.string();
  return none;
}

const RabbitmqServer& RabbitmqServer::shared() {
  static const RabbitmqServer server = [] {
    const char* file = std::getenv("SAGABOX_TEST_RABBITMQ");
    return file == nullptr ? start_new(getpid()) : written(file);
  }();
  return server;
}

void RabbitmqServer::write(const fs::path& file) const {
  if (problem_.empty()) {
    std::ofstream(file) << port_ << ' ' << server_.folder().string() << '\n';
  } else {
    std::ofstream(file) << problem_ << '\n';
  }
}

void RabbitmqServer::end_written(const fs::path& file) {
  if (fs::exists(file)) written(file).server_.remove();
  fs::remove(file);
}

}  // namespace sagabox::testing
