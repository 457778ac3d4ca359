#pragma once

#include "stores/sql/hub_records.hpp"

#include <sagabox/spi/subscription_store.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace sagabox::sql {

/// What those who administer subscriptions need, in SQL.
class HubSubscriptionStore final : public spi::SubscriptionStore {
 public:
  HubSubscriptionStore(Sections& sections, const HubParts& parts);

  Result<bool> write(const SubscriptionRecord& record, std::span<const AuditEvent> audit) override;
  Result<std::optional<SubscriptionRecord>> get(const SubscriptionId& id) override;
  Result<std::vector<SubscriptionRecord>> list(const spi::SubscriptionList& request) override;
  Result<Count> count(std::string_view tenant) override;
  Result<std::uint32_t> add_secret(const SubscriptionId& id, std::string_view sealed,
                                   Duration overlap, std::span<const AuditEvent> audit) override;
  Result<std::vector<SecretsOf>> secrets(std::span<const SubscriptionId> ids) override;
  Result<std::uint64_t> reseal(std::span<const ResealedSecret> secrets) override;

 private:
  Result<bool> write_in(Session& session, const SubscriptionRecord& record,
                        std::span<const AuditEvent> audit) const;

  const HubParts& parts_;
  const Statement lock_;
  const Statement get_;
  const Statement write_;
  const Statement list_;
  const Statement list_in_;
  const Statement count_;
  const Statement add_secret_;
  const Statement secrets_;
  const Statement reseal_;
};

}  // namespace sagabox::sql
