#pragma once

#include "stores/sql/hub_records.hpp"

#include <sagabox/spi/job_store.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace sagabox::sql {

/// What workers and the cleaner of leases need, in SQL.
class HubJobStore final : public spi::JobStore {
 public:
  HubJobStore(Sections& sections, const HubParts& parts);

  Result<std::vector<spi::LeasedJob>> lease(std::string_view worker, const LeaseToken& token,
                                            Duration lease, std::uint32_t rows_max,
                                            std::size_t bytes_max) override;
  Result<std::vector<bool>> finish(const LeaseToken& token,
                                   std::span<const spi::FinishedJob> jobs) override;
  Result<ResetReply> reset(std::uint32_t rows_max) override;
  void wait(Duration timeout) override { parts_.wait(hub_jobs_feed, timeout); }
  void wake() override { parts_.wake(hub_jobs_feed); }

 private:
  Result<ResetReply> reset_in(Session& session, std::uint32_t rows_max) const;

  const HubParts& parts_;
  const Statement lease_;
  const Statement finish_;
  const Statement lost_;
  const Statement reset_;
};

}  // namespace sagabox::sql
