#include "crash/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace sagabox::crash {

Process::Process(std::vector<std::string> words, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  id_ = fork();
  if (id_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (id_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  dup2(out, 1);
  dup2(out, 2);
  execv(arguments[0], arguments.data());
  _exit(127);
}

Process::~Process() { kill(); }

Process::Process(Process&& other) noexcept : id_(std::exchange(other.id_, -1)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(id_, other.id_);
  return *this;
}

bool Process::is_running() const {
  siginfo_t ended{};
  return id_ > 0 &&
         waitid(P_PID, static_cast<id_t>(id_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

void Process::signal(int number) const {
  if (id_ > 0) ::kill(id_, number);
}

void Process::kill() {
  if (id_ <= 0) return;
  signal(SIGKILL);
  (void)wait();
}

int Process::wait() {
  if (id_ <= 0) return 0;
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int Process::stop() {
  signal(SIGTERM);
  return wait();
}

}  // namespace sagabox::crash
