#include "cli/connect_cure.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace sagabox::cli {
namespace {

/// Texts by which drivers, and the servers behind them, name one cause.
struct ConnectCause {
  std::vector<std::string_view> said;
  std::string_view cure;
};

const std::array connect_causes{
    ConnectCause{
        {"resolve host", "Couldn't resolve", "translate host name", "name lookup",
         "Name or service not known", "No address associated", "Temporary failure in name"},
        "its name is not known here: mend the host in the URL, or ask DNS (getent hosts)"},
    ConnectCause{{"Connection refused", "connection refused", "connect to server"},
                 "nothing listens there: start it, or mend host and port"},
    ConnectCause{{"certificate", "SSL", "TLS", "handshake"},
                 "TLS did not come about: compare what both sides want (https or http, sslmode, "
                 "ca_file) and the names in the certificate"},
    ConnectCause{{"authentication failed", "no password supplied", "check user and password",
                  "asks for a password", "WRONGPASS", "NOAUTH", "Authorization Violation",
                  "ACCESS_REFUSED", "not authorised", "Not authorized"},
                 "it is up and refuses us: check user and password"},
    ConnectCause{{"pg_hba.conf"}, "it is up and refuses this client: add it to pg_hba.conf"},
    ConnectCause{{"does not exist"}, "create the database or role that it names, or mend the URL"},
    ConnectCause{{"too many clients", "connection slots are reserved", "too many connections"},
                 "it has no connection left: raise its limit, or lower the pools of those it has"},
    ConnectCause{{"timed out", "timeout", "no answer", "Operation too slow"},
                 "it does not answer: see whether it hangs, and whether a firewall drops packets"},
    ConnectCause{{"unreachable", "No route to host"}, "no way leads there: check network and host"},
};

}  // namespace

std::string connect_cure(std::string_view error) {
  std::string cures;
  for (const auto& [said, cure] : connect_causes) {
    if (std::ranges::none_of(said, [&](std::string_view text) {
          return error.find(text) != std::string_view::npos;
        })) {
      continue;
    }
    if (!cures.empty()) cures += "; ";
    cures += cure;
  }
  return cures.empty() ? "see whether it is up, and whether we may log in" : cures;
}

}  // namespace sagabox::cli
