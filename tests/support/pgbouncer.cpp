#include "support/pgbouncer.hpp"

#include "support/postgres_database.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sagabox::testing {
namespace {

namespace fs = std::filesystem;

constexpr auto pgbouncer_program = "/usr/sbin/pgbouncer";

PgConnection connected_to_pooler(const std::string& url) {
  PgConnection connection(PQconnectdb(url.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  return connection;
}

}  // namespace

std::string Pgbouncer::missing() {
  if (const auto& problem = PostgresServer::shared().problem; !problem.empty()) return problem;
  return fs::exists(pgbouncer_program) ? ""
                                       : "pgbouncer is not installed (Debian package pgbouncer)";
}

Pgbouncer::Pgbouncer(const PostgresServer& server, const std::string& connect_query)
    : connect_query_(connect_query) {
  std::string folder = (fs::temp_directory_path() / "sagabox-pgbouncer-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for pgbouncer");
  folder_ = folder;
  // It runs as another user if we are root.
  fs::permissions(folder_, fs::perms::all);
  for (int attempt = 0; attempt < 5; ++attempt) {
    port_ = free_port();
    write_settings(server);
    start();
    for (int i = 0; i < 500 && waitpid(process_, nullptr, WNOHANG) == 0; ++i) {
      const PgConnection probe(PQconnectdb(url().c_str()));
      if (PQstatus(probe.get()) == CONNECTION_OK) {
        warm_up();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (kill(process_, 0) == 0) break;
  }
  throw std::runtime_error("pgbouncer did not start; see " + (folder_ / "log").string());
}

Pgbouncer::~Pgbouncer() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Pgbouncer::lead_to(const PostgresServer& server) {
  write_settings(server);
  // Open connections to the former server end with their current transactions.
  const auto console = connected_to_pooler("host=127.0.0.1 port=" + std::to_string(port_) +
                                           " user=postgres dbname=pgbouncer");
  run_sql(console.get(), "RELOAD");
  run_sql(console.get(), "RECONNECT");
}

std::string Pgbouncer::url() const {
  return "host=127.0.0.1 port=" + std::to_string(port_) + " user=postgres dbname=postgres";
}

void Pgbouncer::write_settings(const PostgresServer& server) const {
  std::ofstream(folder_ / "ini") << "[databases]\n"
                                 << "postgres = host=127.0.0.1 port=" << server.port
                                 << " user=postgres dbname=postgres connect_query='"
                                 << connect_query_ << "'\n"
                                 << "[pgbouncer]\n"
                                 << "listen_addr = 127.0.0.1\n"
                                 << "listen_port = " << port_ << "\n"
                                 << "unix_socket_dir =\n"
                                 << "auth_type = any\n"
                                 << "admin_users = postgres\n"
                                 << "pool_mode = transaction\n"
                                 << "server_round_robin = 1\n"
                                 << "default_pool_size = 40\n"
                                 << "max_client_conn = 400\n";
}

void Pgbouncer::start() {
  const auto log = folder_ / "log";
  const auto settings = folder_ / "ini";
  const passwd* user = geteuid() == 0 ? getpwnam("postgres") : nullptr;
  process_ = fork();
  if (process_ != 0) return;
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  dup2(out, 1);
  dup2(out, 2);
  if (user != nullptr &&
      (setgroups(0, nullptr) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) {
    _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execl(pgbouncer_program, pgbouncer_program, settings.c_str(), nullptr);
  _exit(127);
}

void Pgbouncer::warm_up() const {
  std::vector<PgConnection> open;
  for (int i = 0; i < spread; ++i)
    run_sql(open.emplace_back(connected_to_pooler(url())).get(), "BEGIN");
  for (const auto& connection : open) run_sql(connection.get(), "COMMIT");
}

}  // namespace sagabox::testing
