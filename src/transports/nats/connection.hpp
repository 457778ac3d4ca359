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

/// One connection to a server, which is never re-established, so that nothing is sent without our
/// knowledge. libnats does its I/O when we call it, without ever blocking; answers arrive on a
/// thread of libnats and go directly to the parcels in flight. Used by one thread, except for the
/// callbacks of libnats.
class Connection {
 public:
  /// Blocks, at most `connect_max` for each server. PROVIDER.UNAVAILABLE says why it failed.
  static Result<std::unique_ptr<Connection>> open(const Options& options,
                                                  const std::vector<std::string>& more_servers,
                                                  std::shared_ptr<transports::UnderWay> under_way,
                                                  std::shared_ptr<transports::Wake> wake);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Puts the parcel in the buffer, or gives it its result if it cannot be sent.
  void publish(transports::UnderWay::Key key, const spi::Parcel& parcel);
  [[nodiscard]] std::size_t buffered() const;

  /// Other servers of the cluster, as announced by this one.
  [[nodiscard]] std::vector<std::string> discovered_servers() const;

  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] bool wants_to_write() const noexcept;
  void read();
  void write();
  [[nodiscard]] bool is_lost() const;
  /// Closes it so that data still buffered on this side is never sent.
  void abandon();

  /// The state shared with libnats' threads: it outlives the connection as long as one of them
  /// needs it.
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
