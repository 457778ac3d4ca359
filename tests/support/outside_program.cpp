#include "support/outside_program.hpp"

#include "support/places.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

extern char** environ;

namespace sagabox::testing {
namespace {

const std::filesystem::path folder = project_folder() / "tests/outside";

}  // namespace

std::string OutsideProgram::problem() {
  if (std::system("node --version >/dev/null 2>&1") != 0) {
    return "node is not installed; ./dev setup does it";
  }
  if (!std::filesystem::exists(folder / "node_modules")) {
    return "tests/outside/node_modules is missing; ./dev setup fetches it from npm";
  }
  return {};
}

OutsideProgram::OutsideProgram(std::vector<std::string> words) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  words.front() = folder / words.front();
  std::string node = "node";
  std::vector<char*> arguments{node.data()};
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto error = posix_spawnp(&id_, "node", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (error != 0) {
    close(to_);
    close(from_);
    throw std::runtime_error("node cannot be started");
  }
}

OutsideProgram::~OutsideProgram() {
  close(to_);
  close(from_);
  waitpid(id_, nullptr, 0);
}

std::string OutsideProgram::line(Duration patience) {
  const auto until = system_clock().boot_now() + patience;
  for (auto end = read_.find('\n');; end = read_.find('\n')) {
    if (end != std::string::npos) {
      auto line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - system_clock().boot_now());
    pollfd readable{.fd = from_, .events = POLLIN, .revents = 0};
    std::array<char, 4096> some{};
    if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) <= 0) return {};
    const auto count = read(from_, some.data(), some.size());
    if (count <= 0) return {};
    read_.append(some.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace sagabox::testing
