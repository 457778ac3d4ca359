#pragma once

#include "conformance/store_conformance.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace sagabox::conformance {

/// What every store that keeps records of requests must do.
class IdempotencyConformance : public StoreConformance {
 protected:
  static constexpr Duration lease = std::chrono::seconds(10);
  static constexpr Duration ttl = std::chrono::hours(1);

  spi::IdempotencyStore& requests() { return *store().idempotency(); }

  static IdempotencyKey key(std::string text, std::string consumer = "billing",
                            std::string tenant = "acme") {
    return {std::move(tenant), std::move(consumer), std::move(text)};
  }
  /// Another ticket each time.
  spi::IdempotencyCheck ask(const IdempotencyKey& key, std::string_view payload = "payload") {
    return {key, sha256(payload), IdempotencyTicket{++tickets_}, lease, ttl};
  }
  spi::IdempotencyCheckReply check(const spi::IdempotencyCheck& check) {
    return requests().check(std::span(&check, 1)).value().at(0);
  }
  /// Lets a new request through.
  spi::IdempotencyCheck take(const IdempotencyKey& key) {
    auto asked = ask(key);
    EXPECT_TRUE(check(asked).taken);
    return asked;
  }
  bool finish(const spi::IdempotencyCheck& holder, std::optional<std::string> result = "done") {
    const spi::IdempotencyFinish one{holder.key, holder.ticket, result,
                                     sha256(result.value_or(""))};
    return requests().finish(std::span(&one, 1)).value().at(0);
  }
  bool fail(const spi::IdempotencyCheck& holder, bool final) {
    const spi::IdempotencyFail one{holder.key, holder.ticket, final, Code::provider_rejected,
                                   "no stock"};
    return requests().fail(std::span(&one, 1)).value().at(0);
  }
  bool renew(const spi::IdempotencyCheck& holder) {
    const spi::IdempotencyRenew one{holder.key, holder.ticket, lease};
    return requests().renew(std::span(&one, 1)).value().at(0);
  }
  std::optional<IdempotencyRecord> get(const IdempotencyKey& key) {
    return requests().get(key).value();
  }
  std::vector<std::string> keys(const spi::IdempotencyListRequest& request) {
    std::vector<std::string> all;
    for (const auto& record : requests().list(request).value()) all.push_back(record.key.key);
    return all;
  }

 private:
  std::uint64_t tickets_ = 0;
};

}  // namespace sagabox::conformance
