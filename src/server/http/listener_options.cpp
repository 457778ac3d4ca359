#include "server/http/listener_options.hpp"

#include "core/text.hpp"

#include <boost/asio/ip/address.hpp>

#include <array>
#include <utility>

namespace sagabox::server {

std::string numeric_address(const std::string& address) {
  return address == "localhost" ? "127.0.0.1" : address;
}

Result<bool> is_loopback(const std::string& address) {
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(numeric_address(address), error);
  if (!error) return parsed.is_loopback();
  return Error{
      Code::config_invalid,
      "address " + quoted(address) + " is not an address; give one like 127.0.0.1, ::1 or 0.0.0.0"};
}

Status ListenerOptions::check() const {
  const auto invalid = [](std::string text) {
    return Error{Code::config_invalid, std::move(text)};
  };
  if (const auto known = is_loopback(address); !known.ok()) return known.error();
  const std::array<std::pair<const char*, std::size_t>, 4> counts{
      {{"io_threads", io_threads},
       {"workers", workers},
       {"connections_max", connections_max},
       {"header_bytes_max", header_bytes_max}}};
  for (const auto& [name, count] : counts) {
    if (count == 0) return invalid(std::string(name) + " is 0; give at least 1");
  }
  if (bodies_bytes_max < body_bytes_max) {
    return invalid("bodies_bytes_max is below body_bytes_max; not even one would fit");
  }
  const std::array<std::pair<const char*, Duration>, 5> times{{{"header_timeout", header_timeout},
                                                               {"body_timeout", body_timeout},
                                                               {"idle_timeout", idle_timeout},
                                                               {"answer_timeout", answer_timeout},
                                                               {"write_timeout", write_timeout}}};
  for (const auto& [name, time] : times) {
    if (time <= Duration::zero()) return invalid(std::string(name) + " must be above 0");
  }
  return {};
}

}  // namespace sagabox::server
