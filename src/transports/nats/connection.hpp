#pragma once

#include "transports/nats/client.hpp"
#include "transports/nats/publication.hpp"
#include "transports/under_way.hpp"
#include "transports/wake.hpp"

#include <sagabox/transports/nats.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace sagabox::nats {

/// One connection to a server; once lost it never comes back, so that nothing is sent behind
/// our back. libnats does its I/O when we say so, without ever blocking; answers come on a thread
/// of its own, straight to the parcels under way. Used by one thread, but for what libnats calls.
class Connection {
 public:
  /// Blocks, `connect_max` a server at most. PROVIDER.UNAVAILABLE says why it failed.
  static Result<std::unique_ptr<Connection>> open(const Options& options,
                                                  const std::vector<std::string>& more_servers,
                                                  std::shared_ptr<transports::UnderWay> under_way,
                                                  std::shared_ptr<transports::Wake> wake);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Puts it in the buffer, or gives it its result where it cannot be sent.
  void publish(transports::UnderWay::Key key, const spi::Parcel& parcel);
  [[nodiscard]] std::size_t buffered() const;

  /// Others of the cluster, as the server named them.
  [[nodiscard]] std::vector<std::string> discovered_servers() const;

  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] bool wants_to_write() const noexcept;
  void read();
  void write();
  [[nodiscard]] bool is_lost() const;
  /// Cuts it, so that what is still in buffers on this side never leaves.
  void abandon();

  /// What libnats' threads know of us: outlives the connection as long as one of them needs it.
  struct Shared;

 private:
  Connection(natsConnection* connection, std::shared_ptr<Shared> shared);

  natsConnection* connection_;
  natsSubscription* inbox_ = nullptr;
  std::shared_ptr<Shared> shared_;
  Publication publication_;
  std::string reply_;
};

}  // namespace sagabox::nats
