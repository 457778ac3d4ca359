#include "support/http_nginx.hpp"

#include <sagabox/time.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <thread>

namespace sagabox::testing {
namespace {

constexpr auto nginx_start_max = std::chrono::seconds(30);

std::filesystem::path nginx_program() {
  for (const auto* place : {"/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"}) {
    if (std::filesystem::exists(place)) return place;
  }
  return {};
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Another process may take it first.
std::uint16_t unused_port() {
  auto address = loopback(0);
  socklen_t size = sizeof address;
  const int number = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(number, any, size) != 0 || getsockname(number, any, &size) != 0) {
    throw std::runtime_error("no port");
  }
  close(number);
  return ntohs(address.sin_port);
}

bool somebody_listens(std::uint16_t port) {
  auto address = loopback(port);
  const int number = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected =
      connect(number, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(number);
  return connected;
}

}  // namespace

std::string HttpNginx::problem() {
  if (nginx_program().empty()) return "nginx is not installed; ./dev setup does it";
  if (!std::filesystem::exists("/usr/bin/openssl")) return "openssl is not installed";
  return {};
}

HttpNginx::HttpNginx(Speaks what, int processes) : port_(unused_port()) {
  std::string name = std::filesystem::temp_directory_path() / "sagabox-nginx-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for nginx");
  folder_ = name;
  // Its workers may run as another user.
  std::filesystem::permissions(folder_, std::filesystem::perms::others_all,
                               std::filesystem::perm_options::add);
  if (what != Speaks::plain) make_certificate();
  write_configuration(what, processes);
  start();
  wait_until_it_listens();
}

HttpNginx::~HttpNginx() {
  stop();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void HttpNginx::make_certificate() const {
  const auto command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
      "-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout " +
      (folder_ / "key.pem").string() + " -out " + ca_file().string() + " 2>/dev/null";
  if (system(command.c_str()) != 0) throw std::runtime_error("openssl made no certificate");
}

void HttpNginx::write_configuration(Speaks what, int processes) const {
  const auto in = [&](const char* name) { return (folder_ / name).string(); };
  std::ofstream out(folder_ / "nginx.conf");
  out << "daemon off;\nmaster_process " << (processes > 1 ? "on" : "off") << ";\nworker_processes "
      << processes << ";\npid " << in("pid") << ";\nerror_log " << in("error.log")
      << " warn;\nevents { worker_connections 4096; }\nhttp {\n"
      << "  log_format short '$server_protocol $connection $request_method $uri';\n"
      << "  access_log " << (what == Speaks::plain ? "off" : in("access.log") + " short") << ";\n"
      << "  client_body_temp_path " << in("body") << ";\n  proxy_temp_path " << in("proxy")
      << ";\n  fastcgi_temp_path " << in("fastcgi") << ";\n  uwsgi_temp_path " << in("uwsgi")
      << ";\n  scgi_temp_path " << in("scgi")
      << ";\n  client_max_body_size 8m;\n  keepalive_requests 100000000;\n  server {\n"
      << "    listen 127.0.0.1:" << port_;
  if (what != Speaks::plain) out << " ssl";
  if (what == Speaks::tls_and_http2) out << " http2";
  out << ";\n";
  if (what != Speaks::plain) {
    out << "    ssl_certificate " << ca_file().string() << ";\n    ssl_certificate_key "
        << in("key.pem") << ";\n";
  }
  out << "    location / { return 204; }\n  }\n}\n";
}

void HttpNginx::start() {
  const auto configuration = (folder_ / "nginx.conf").string();
  const auto nginx = nginx_program().string();
  const auto errors = (folder_ / "error.log").string();
  id_ = fork();
  if (id_ < 0) throw std::runtime_error("no process for nginx");
  if (id_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  execl(nginx.c_str(), nginx.c_str(), "-p", folder_.c_str(), "-e", errors.c_str(), "-c",
        configuration.c_str(), nullptr);
  _exit(127);
}

void HttpNginx::wait_until_it_listens() const {
  const auto until = system_clock().boot_now() + nginx_start_max;
  while (!somebody_listens(port_)) {
    if (waitpid(id_, nullptr, WNOHANG) != 0 || system_clock().boot_now() > until) {
      throw std::runtime_error("nginx does not start");
    }
    std::this_thread::yield();
  }
}

void HttpNginx::stall() { kill(id_, SIGSTOP); }
void HttpNginx::go_on() { kill(id_, SIGCONT); }

std::vector<HttpNginx::Logged> HttpNginx::stop() {
  if (id_ > 0) {
    kill(id_, SIGQUIT);
    waitpid(id_, nullptr, 0);
    id_ = -1;
  }
  std::vector<Logged> all;
  std::ifstream lines(folder_ / "access.log");
  for (Logged one; lines >> one.protocol >> one.connection >> one.method >> one.path;) {
    all.push_back(one);
  }
  return all;
}

}  // namespace sagabox::testing
