#include "bench/slo/daemon.hpp"

#include "support/rest_client.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox::bench::slo {
namespace {

namespace fs = std::filesystem;

constexpr int looks_max = 600;
constexpr auto look_interval = std::chrono::milliseconds(100);

constexpr auto configuration = R"(listen: 127.0.0.1:0
stores:
  main: {{ url: "{}", tables: [default] }}
routes:
  - {{ topic: "**", to: "http://127.0.0.1:{}/orders" }}
transports:
  http: {{ allow: [127.0.0.1] }}
)";

fs::path binary() {
  const auto path = fs::read_symlink("/proc/self/exe").parent_path() / "sagabox";
  if (!fs::exists(path)) throw std::runtime_error("build sagabox_cli first: no " + path.string());
  return path;
}

/// To start something with: variables that begin with SAGABOX_ would be settings of the daemon.
std::vector<std::string> without_our_variables() {
  std::vector<std::string> words{"/usr/bin/env"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!text.starts_with("SAGABOX_")) continue;
    words.insert(words.end(), {"-u", std::string(text.substr(0, text.find('=')))});
  }
  return words;
}

/// Where it listens, from what it says when it is ready; 0: it is not.
std::uint16_t port_in(const std::string& said) {
  constexpr std::string_view before = "http://127.0.0.1:";
  const auto at = said.find(before);
  if (at == std::string::npos || said.find(" owned") == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::atoi(said.c_str() + at + before.size()));
}

}  // namespace

Daemon::Daemon(const Settings& settings)
    : folder_(testing::scratch_folder("slo-" + settings.name)), name_(settings.name) {
  std::ofstream(folder_ / "sagabox.yaml")
      << fmt::format(configuration, settings.store_url, settings.receiver_port);
  auto words = without_our_variables();
  words.insert(words.end(), {binary(), "serve", "--config", folder_ / "sagabox.yaml"});
  process_.start(std::move(words), folder_ / "log");
  for (int look = 0; look < looks_max && process_.runs(); ++look) {
    port_ = port_in(said());
    if (port_ != 0) return;
    std::this_thread::sleep_for(look_interval);
  }
  throw std::runtime_error(name_ + " does not start: " + said());
}

std::string Daemon::said() const {
  std::ifstream file(folder_ / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

double Daemon::metric(const std::string& name, const std::string& label) const {
  std::istringstream lines(testing::RestClient(port_).get("/metrics").body);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto value = line.rfind(' ');
    const auto series = line.substr(0, value);
    if (!series.starts_with("sagabox_" + name)) continue;
    const auto end = series.substr(8 + name.size());
    const bool same = end.empty() || end.front() == '{';
    if (same && series.find(label) != std::string::npos) sum += std::atof(line.c_str() + value);
  }
  return sum;
}

void Daemon::end() {
  if (const auto code = process_.end(); code != 0) {
    throw std::runtime_error(fmt::format("{} ended with {}: {}", name_, code, said()));
  }
}

}  // namespace sagabox::bench::slo
