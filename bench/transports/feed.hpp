#pragma once

#include <sagabox/spi/transport.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sagabox::bench::transports {

/// Messages as an outbox would hand them over, made before the time is taken.
class Feed {
 public:
  explicit Feed(std::uint32_t messages);

  /// A parcel of it, due in a minute.
  [[nodiscard]] spi::Parcel parcel(std::uint32_t number,
                                   std::shared_ptr<const spi::Address> address) const;
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(all_.size()); }

  /// Brings all of them to the address, so many under way at most; messages a second. Throws
  /// unless each was delivered.
  double deliver(spi::Transport& transport, const std::string& address) const;

 private:
  TableName table_ = TableName::parse("bench").value();
  std::vector<std::shared_ptr<const Message>> all_;
  BootTime deadline_{};
};

}  // namespace sagabox::bench::transports
