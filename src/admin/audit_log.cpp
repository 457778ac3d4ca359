#include <sagabox/admin.hpp>

#include <utility>

namespace sagabox {
namespace {

constexpr std::uint32_t entries_a_read = 1000;

/// Stores the first problems, and counts all.
class Findings {
 public:
  explicit Findings(AuditReport& report) : report_(report) {}
  void add(std::string problem) {
    if (problem.empty()) return;
    if (report_.problems_found++ < AuditReport::problems_max) {
      report_.problems.push_back(std::move(problem));
    }
  }

 private:
  AuditReport& report_;
};

}  // namespace

Result<AuditReport> Admin::verify_audit(const std::optional<AuditHead>& anchor) const {
  auto& log = store_->audit();
  AuditReport report;
  Findings findings(report);
  // Always starts at the first entry: an anchor only proves one known entry.
  AuditVerifier verifier;
  AuditAnchor kept(anchor.value_or(AuditHead{}));
  std::uint64_t after = 0;
  for (;;) {
    // Others append meanwhile. The head is read before the entries: the entry that it names must be
    // found, and the last known entry must not be beyond it.
    const auto head = log.head();
    if (!head.ok()) return head.error();
    const auto entries = log.read(after, entries_a_read);
    if (!entries.ok()) return entries.error();
    for (const auto& entry : *entries) {
      findings.add(verifier.next(entry));
      findings.add(kept.next(verifier.head()));
    }
    report.entries += entries->size();
    if (!entries->empty()) {
      after = entries->back().number;
      continue;
    }
    findings.add(verifier.end(*head));
    findings.add(kept.end(*head));
    report.head = *head;
    return report;
  }
}

Result<std::uint64_t> Admin::export_audit(const LineSink& sink, std::uint64_t after) const {
  std::uint64_t lines = 0;
  for (;;) {
    const auto entries = store_->audit().read(after, entries_a_read);
    if (!entries.ok()) return entries.error();
    if (entries->empty()) return lines;
    for (const auto& entry : *entries) {
      if (options_.tenant && entry.event.tenant != *options_.tenant) continue;
      ++lines;
      if (!sink(audit_json(entry))) return lines;
    }
    after = entries->back().number;
  }
}

}  // namespace sagabox
