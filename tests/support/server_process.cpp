#include "support/server_process.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace sagabox::testing {
namespace {

namespace fs = std::filesystem;

/// A process that removes the folder when this one has ended. It keeps no descriptors of ours open,
/// so that a reader of our output does not wait for it.
void remove_at_the_end(const fs::path& folder) {
  const int watched = getpid();
  const pid_t first = fork();
  if (first != 0) {
    int status = 0;
    waitpid(first, &status, 0);
    return;
  }
  if (fork() != 0) _exit(0);
  setsid();
  const int process = static_cast<int>(syscall(SYS_pidfd_open, watched, 0));
  for (int fd = 0; fd < 1024; ++fd) {
    if (fd != process) close(fd);
  }
  pollfd ended{process, POLLIN, 0};
  while (process >= 0 && poll(&ended, 1, -1) < 0) {
  }
  std::error_code ignored;
  // Servers end with us, but may still be writing.
  for (int attempt = 0; attempt < 20 && fs::exists(folder, ignored); ++attempt) {
    fs::remove_all(folder, ignored);
    usleep(50'000);
  }
  _exit(0);
}

fs::path root_folder() {
  static const fs::path root = [] {
    auto name = (fs::temp_directory_path() / "sagabox-servers-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    remove_at_the_end(name);
    return fs::path(name);
  }();
  return root;
}

}  // namespace

fs::path scratch_folder(const std::string& name) {
  static int number = 0;
  const auto folder = root_folder() / (name + "-" + std::to_string(++number));
  fs::create_directories(folder);
  return folder;
}

void ServerProcess::start(std::vector<std::string> words, const fs::path& log) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto parent = getpid();
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int in = open("/dev/null", O_RDONLY);
  dup2(in, 0);
  dup2(out, 1);
  dup2(out, 2);
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

bool ServerProcess::runs() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == 0) return true;
  pid_ = 0;
  return false;
}

void ServerProcess::stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
}

int ServerProcess::end() {
  kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void ServerProcess::stall() const {
  kill(pid_, SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void ServerProcess::go_on() const { kill(pid_, SIGCONT); }

std::uint16_t free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  (void)bind(probe, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size);
  close(probe);
  return ntohs(address.sin_port);
}

bool wait_for_port(std::uint16_t port) {
  for (int attempt = 0; attempt < 3000; ++attempt) {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool there = connect(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    if (there) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string program_path(const std::string& name) {
  for (const auto* folder : {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"}) {
    const auto path = fs::path(folder) / name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace sagabox::testing
