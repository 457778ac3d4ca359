#include "support/scratch_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>

namespace sagabox::testing {
namespace {

namespace fs = std::filesystem;

constexpr int end_ms_max = 20'000;

std::vector<pid_t> groups(const fs::path& folder) {
  std::vector<pid_t> all;
  std::ifstream in(folder / "pids");
  for (pid_t group = 0; in >> group;) all.push_back(group);
  return all;
}

/// The processes of a group without zombies.
std::vector<pid_t> members(pid_t group) {
  std::vector<pid_t> all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process <= 0) continue;
    std::string line;
    std::getline(std::ifstream(entry.path() / "stat"), line);
    // "17 (name) S parent group …"; the name may contain any characters.
    std::istringstream rest(line.substr(line.rfind(')') + 1));
    char state = 0;
    pid_t parent = 0;
    pid_t its_group = 0;
    if (rest >> state >> parent >> its_group && its_group == group && state != 'Z') {
      all.push_back(process);
    }
  }
  return all;
}

/// A process to wait for though it is not a child of this one. Opened before the process is told to
/// end: one with several threads looks dead while some of them still hold its sockets.
class Watched {
 public:
  explicit Watched(pid_t process)
      : process_(process), handle_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
  ~Watched() {
    if (handle_ >= 0) close(handle_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// Kills it if it does not end in time.
  void wait() const {
    pollfd ended{handle_, POLLIN, 0};
    if (handle_ < 0 || poll(&ended, 1, end_ms_max) == 1) return;
    kill(process_, SIGKILL);
    poll(&ended, 1, end_ms_max);
  }

 private:
  pid_t process_;
  int handle_;
};

/// Sends the signal to the whole group and waits until its processes are gone.
void end_group(pid_t group, int signal) {
  std::deque<Watched> all;
  for (const auto process : members(group)) all.emplace_back(process);
  kill(-group, signal);
  kill(-group, SIGCONT);
  for (const auto& one : all) one.wait();
}

/// A process without descriptors of ours that waits for the end of `watched`.
void guard_scratch(const fs::path& folder, int watched) {
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
  open("/dev/null", O_RDWR);
  dup2(0, 1);
  dup2(0, 2);
  pollfd ended{process, POLLIN, 0};
  while (process >= 0 && poll(&ended, 1, -1) < 0) {
  }
  ScratchServer(folder).remove();
  _exit(0);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

ScratchServer ScratchServer::make(const std::string& name, int watched) {
  std::string folder = (fs::temp_directory_path() / ("sagabox-" + name + "-XXXXXX")).string();
  if (mkdtemp(folder.data()) == nullptr) return ScratchServer({});
  guard_scratch(folder, watched);
  return ScratchServer(folder);
}

bool ScratchServer::exists() const { return !folder_.empty() && fs::exists(folder_); }

int ScratchServer::spawn(const std::vector<std::string>& words,
                         const std::vector<std::string>& environment) const {
  auto arguments = words;
  auto variables = environment;
  for (char** ours = environ; *ours != nullptr; ++ours) variables.emplace_back(*ours);
  const auto argument_pointers = pointers(arguments);
  const auto variable_pointers = pointers(variables);
  const auto log = folder_ / "log";
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const int in = open("/dev/null", O_RDONLY);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    if (chdir(folder_.c_str()) == 0) {
      execvpe(argument_pointers[0], argument_pointers.data(), variable_pointers.data());
    }
    _exit(127);
  }
  if (child > 0) setpgid(child, child);
  return child;
}

void ScratchServer::run(const std::vector<std::string>& words,
                        const std::vector<std::string>& environment) const {
  const pid_t child = spawn(words, environment);
  if (child > 0) std::ofstream(folder_ / "pids", std::ios::app) << child << '\n';
}

bool ScratchServer::run_to_end(const std::vector<std::string>& words,
                               const std::vector<std::string>& environment) const {
  const pid_t child = spawn(words, environment);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

namespace {

/// Whether no thread of the group runs: each stops at SIGSTOP only when it is scheduled.
bool stands_still(pid_t group) {
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const auto name = process.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (getpgid(std::stoi(name)) != group) continue;
    for (const auto& task : fs::directory_iterator(process.path() / "task", ignored)) {
      std::ifstream in(task.path() / "stat");
      std::string text;
      std::getline(in, text);
      const auto state = text.rfind(") ");
      if (state != std::string::npos &&
          std::string("TZX").find(text[state + 2]) == std::string::npos)
        return false;
    }
  }
  return true;
}

}  // namespace

void ScratchServer::signal(int number) const {
  for (const auto group : groups(folder_)) {
    kill(-group, number);
    for (int i = 0; number == SIGSTOP && i < 1000 && !stands_still(group); ++i) usleep(1000);
  }
}

void ScratchServer::end(int number) const {
  for (const auto group : groups(folder_)) {
    end_group(group, number);
    // Includes processes that were started meanwhile.
    end_group(group, SIGKILL);
    waitpid(group, nullptr, WNOHANG);
  }
  std::error_code ignored;
  fs::remove(folder_ / "pids", ignored);
}

void ScratchServer::remove() const {
  if (folder_.empty()) return;
  end(SIGKILL);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace sagabox::testing
