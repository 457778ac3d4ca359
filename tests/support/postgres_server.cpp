#include "support/postgres_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace sagabox::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr auto owner = "postgres";  // the server refuses to run as root

/// The newest version installed; empty: none.
fs::path server_programs() {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
    if (fs::exists(version.path() / "bin/initdb")) found.push_back(version.path() / "bin");
  }
  const auto number = [](const fs::path& path) {
    return std::atoi(path.parent_path().filename().c_str());
  };
  const auto newest =
      std::max_element(found.begin(), found.end(),
                       [&](const auto& a, const auto& b) { return number(a) < number(b); });
  return newest == found.end() ? fs::path() : *newest;
}

/// Runs it with its output in `log`; returns whether it succeeded.
bool run_as_owner(Words words, const fs::path& log) {
  if (geteuid() == 0) words.insert(words.begin(), {"runuser", "-u", owner, "--"});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    if (chdir("/") == 0) execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

/// A process that waits for the end of `watched` and then stops the server. It keeps no descriptors
/// of ours open, so that a reader of our output does not wait for it.
void guard_postgres(const fs::path& folder, int watched) {
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
  PostgresServer::stop(folder);
  _exit(0);
}

PostgresServer missing(std::string problem) { return {.problem = std::move(problem)}; }

/// The server described by a file of `postgres_server start`.
PostgresServer running(const fs::path& file) {
  PostgresServer server;
  std::ifstream in(file);
  std::string folder;
  if (in >> server.port && std::getline(in >> std::ws, folder)) {
    server.folder = folder;
    return server;
  }
  in.clear();
  in.seekg(0);
  std::getline(in, server.problem);
  if (server.problem.empty()) server.problem = "no PostgreSQL runs: nothing in " + file.string();
  return server;
}

/// Starts the server with the data in the folder.
PostgresServer start_in(const fs::path& folder, const fs::path& programs, int watched,
                        PostgresServer::Disk disk) {
  const auto data = (folder / "data").string();
  const auto log = folder / "log";
  guard_postgres(folder, watched);
  // Another process may take the port first.
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto port = free_port();
    const std::string options =
        "-p " + std::to_string(port) +
        " -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        " -c max_connections=200 -c max_prepared_transactions=10" +
        (disk == PostgresServer::Disk::unsynced ? " -c fsync=off -c full_page_writes=off" : "");
    if (run_as_owner({programs / "pg_ctl", "-D", data, "-l", (folder / "data/server.log").string(),
                      "-w", "-o", options, "start"},
                     log)) {
      return {.port = port, .folder = folder};
    }
  }
  return missing("PostgreSQL did not start; see " + log.string());
}

PostgresServer new_server_folder() {
  std::string folder = (fs::temp_directory_path() / "sagabox-postgres-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return missing("cannot make a folder for PostgreSQL");
  return {.folder = folder};
}

/// The server runs as another user if we are root.
bool give_to_owner(const fs::path& folder) {
  if (geteuid() != 0) return true;
  const passwd* user = getpwnam(owner);
  return user != nullptr && chown(folder.c_str(), user->pw_uid, user->pw_gid) == 0;
}

}  // namespace

PostgresServer PostgresServer::start(int watched, Disk disk) {
  const auto programs = server_programs();
  if (programs.empty()) {
    return {.problem = "PostgreSQL's server is not installed (Debian package postgresql)",
            .installed = false};
  }
  // Not in the build folder: the server's user may have no access to it.
  const auto scratch = new_server_folder();
  if (!scratch.problem.empty()) return scratch;
  const auto& folder = scratch.folder;
  const auto log = folder / "log";
  std::ofstream(log).close();
  if (!give_to_owner(folder)) {
    return missing("root may not run PostgreSQL, and no user postgres exists");
  }
  const auto data = (folder / "data").string();
  if (!run_as_owner({programs / "initdb", "-D", data, "-U", owner, "-A", "trust", "-E", "UTF8",
                     "--locale=C.UTF-8"},
                    log)) {
    return missing("initdb failed; see " + log.string());
  }
  return start_in(folder, programs, watched, disk);
}

PostgresServer PostgresServer::start_replica() const {
  auto copy = new_server_folder();
  if (!copy.problem.empty()) return copy;
  const auto programs = server_programs();
  if (!give_to_owner(copy.folder)) return missing("chown failed");
  if (!run_as_owner({programs / "pg_basebackup", "-D", (copy.folder / "data").string(), "-R", "-X",
                     "stream", "-c", "fast", "-d", url()},
                    copy.folder / "log")) {
    return missing("pg_basebackup failed; see " + (copy.folder / "log").string());
  }
  return start_in(copy.folder, programs, getpid(), Disk::durable);
}

bool PostgresServer::promote() const {
  return run_as_owner(
      {server_programs() / "pg_ctl", "-D", (folder / "data").string(), "-w", "promote"},
      folder / "log");
}

bool PostgresServer::crash_and_restart() const {
  return run_as_owner({server_programs() / "pg_ctl", "-D", (folder / "data").string(), "-l",
                       (folder / "data/server.log").string(), "-m", "immediate", "-w", "restart"},
                      folder / "log");
}

void PostgresServer::write(const fs::path& file) const {
  if (problem.empty()) {
    std::ofstream(file) << port << ' ' << folder.string() << '\n';
  } else {
    std::ofstream(file) << problem << '\n';
  }
}

void PostgresServer::stop_written(const fs::path& file) {
  const auto server = running(file);
  if (!server.folder.empty()) stop(server.folder);
  fs::remove(file);
}

void PostgresServer::stop(const fs::path& folder) {
  std::error_code ignored;
  const auto data = folder / "data";
  if (fs::exists(data / "postmaster.pid", ignored)) {
    run_as_owner(
        {server_programs() / "pg_ctl", "-D", data.string(), "-m", "immediate", "-w", "stop"},
        folder / "log");
  }
  fs::remove_all(folder, ignored);
}

const PostgresServer& PostgresServer::shared() {
  static const PostgresServer server = [] {
    const char* file = std::getenv("SAGABOX_TEST_POSTGRES");
    return file == nullptr ? start(getpid(), Disk::unsynced) : running(file);
  }();
  return server;
}

std::string PostgresServer::url() const {
  return "host=127.0.0.1 port=" + std::to_string(port) + " user=postgres dbname=postgres";
}

}  // namespace sagabox::testing
