#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/audit_store.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/spi/fencing.hpp>
#include <sagabox/spi/hub_admin_store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The calls of the store that an orchestrator makes, one a step.
namespace sagabox::delivery {

/// A shard in one stretch of owning it: replies of an earlier one are ignored.
struct Tenure {
  Shard shard{};
  std::uint32_t number = 0;
};

/// In whose name deliveries are changed.
struct Fences {
  WorkerId owner;
  std::vector<spi::Fence> of;
};

// Starting attempts.
struct ReadSubscriptions {
  std::uint64_t after = 0;
};
/// Reads the subscriptions of open deliveries by id: they may have been disabled for so long that
/// no list has them.
struct ReadNamed {
  std::vector<SubscriptionId> subscriptions;
};
struct ScanInProgress {
  Tenure tenure;
  DeliveryId after;
};
struct FindMissingJobs {
  std::vector<JobRecord> jobs;
};
struct MakeJobs {
  std::vector<JobRecord> jobs;
};
struct ScanOpen {
  Tenure tenure;
  SubscriptionId after;
};
struct ReadDue {
  std::vector<Tenure> tenures;  ///< one a page
  std::vector<spi::PendingPage> pages;
};
struct BeginAttempts {
  Fences fences;
  std::vector<spi::AttemptOf> attempts;
};
struct ReleaseStrays {
  Tenure tenure;
  Fences fences;
  spi::WaitingPage page;
};
using StartStep = std::variant<ReadSubscriptions, ReadNamed, ScanInProgress, FindMissingJobs,
                               MakeJobs, ScanOpen, ReadDue, BeginAttempts, ReleaseStrays>;
using StartAnswer =
    std::variant<Result<std::vector<SubscriptionRecord>>, Result<std::vector<DeliveryRecord>>,
                 Result<std::vector<spi::AttemptOf>>, Status,
                 Result<std::vector<spi::OpenSubscription>>, Result<spi::DeliveryStore::BeginReply>,
                 Result<spi::DeliveryStore::StraysReply>>;

// Ending them.
struct ReadEnded {
  Tenure tenure;
  std::uint32_t rows_max = 0;
};
struct ReadDoomed {
  Tenure tenure;
  SubscriptionId subscription;
};
struct ReadFailing {
  SubscriptionId subscription;
  Duration within{};
};
struct DisableSubscription {
  Fences fences;
  SubscriptionId subscription;
  std::uint64_t change = 0;  ///< of the subscription that this was decided by
  std::string reason;
  std::vector<AuditEvent> audit;
};
struct Bury {
  std::vector<DeliveryId> ids;
};
struct ChangeDeliveries {
  Fences fences;
  std::vector<spi::DeliveryChange> changes;
  bool unsent = false;  ///< none of them is in progress
};
struct MarkSeen {
  std::vector<spi::AttemptOf> jobs;
};
struct AppendAudit {
  std::vector<AuditEvent> events;
};
using EndStep = std::variant<ReadEnded, ReadDoomed, ReadFailing, DisableSubscription, Bury,
                             ChangeDeliveries, MarkSeen, AppendAudit>;
using EndAnswer =
    std::variant<Result<std::vector<spi::EndedJob>>, Result<std::vector<DeliveryRecord>>,
                 Result<std::optional<WallTime>>, Result<spi::DeliveryStore::DisableReply>, Status,
                 Result<spi::DeliveryStore::ChangeReply>, Result<AuditHead>>;

}  // namespace sagabox::delivery
