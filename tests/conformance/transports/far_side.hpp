#pragma once

#include <sagabox/message.hpp>
#include <sagabox/spi/transport.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A message as it arrived on the other side. Attribute names are CloudEvents' own, whatever the
/// protocol's binding makes of them; headers are the author's.
struct Arrived {
  std::string payload;
  std::string content_type;
  Headers attributes;
  Headers headers;
  [[nodiscard]] std::string attribute(std::string_view name) const;
};

/// Longer than results may take past their deadlines: whoever comes in time heeds those.
inline constexpr Duration connect_max = std::chrono::minutes(3);
inline constexpr std::chrono::seconds keep_alive = std::chrono::minutes(3);

/// The server that a transport speaks to: the real one, of this test alone or shared, and how to
/// see what arrived there. One instantiation of the suite a transport.
class FarSide {
 public:
  virtual ~FarSide() = default;

  /// Empty: it runs. Otherwise what is missing, and the test is skipped with it.
  [[nodiscard]] virtual std::string problem() const { return {}; }
  /// A transport to this server, settings as users get them but for those two.
  [[nodiscard]] virtual std::unique_ptr<spi::Transport> open() = 0;
  /// An address that no test has used; what it needs on the server (a stream, a queue that
  /// collects) is there.
  [[nodiscard]] virtual std::string fresh_address() = 0;
  /// Waits until so many have arrived there, in the order of arrival; fewer when the server has
  /// had ample time. Each call shows all of them.
  [[nodiscard]] virtual std::vector<Arrived> arrived(const std::string& address,
                                                     std::size_t count) = 0;

  /// An address where the server answers that it will not take any message; nothing: it never does.
  [[nodiscard]] virtual std::optional<std::string> refusing_address() { return std::nullopt; }
  /// The server ends, connections are cut; then it is back on the same port with what it had.
  /// False: this side cannot be stopped (it is a file, this process).
  virtual bool stop() { return false; }
  virtual void start() {}
  /// The server stops answering though it stays connected (SIGSTOP); then it goes on.
  virtual bool stall() { return false; }
  virtual void go_on() {}

  /// Whether the same parcel may arrive more than once after a stop (at least once).
  [[nodiscard]] virtual bool keeps_after_stop() const { return true; }
  [[nodiscard]] virtual bool carries_headers() const { return true; }
};

struct FarSideCase {
  std::string name;  ///< "Redis"
  std::function<std::unique_ptr<FarSide>()> make;
};
void PrintTo(const FarSideCase& which, std::ostream* out);

}  // namespace sagabox::testing
