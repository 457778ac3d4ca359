#include "admin/doctor.hpp"

#include "cli/exit_codes.hpp"
#include "cli/facts.hpp"
#include "cli/message_view.hpp"
#include "cli/verbs.hpp"
#include "cli/view_json.hpp"

#include <sagabox/open.hpp>

#include <algorithm>

namespace sagabox::cli {
namespace {

constexpr Duration transport_patience = std::chrono::seconds(5);

/// Without user, password and query.
std::string public_url(std::string_view url) {
  const auto scheme = url.find("://");
  const auto begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  auto rest = url.substr(begin, url.find_first_of("?#", begin) - begin);
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  return std::string(url.substr(0, begin)) + std::string(rest);
}

class Visit {
 public:
  explicit Visit(Session& session) : operations_(session.operations()) {}

  void store() {
    add(operations_.name(), operations_.findings().value());
    if (!operations_.is_current().value()) return;
    const auto tables = operations_.tables().value();
    for (const auto& table : tables) {
      auto facts = facts_of(operations_, table);
      facts.strays = operations_.strays(table).value();
      add("table " + table.str(), admin::findings_of(facts));
    }
    if (!tables.empty()) clock(tables.front());
  }

  void transport(const std::string& url) {
    const auto name = public_url(url);
    auto opened = open_transport(url);
    if (!opened.ok() && opened.error().code == Code::config_invalid) {
      throw WrongUse("--transport: " + opened.error().text());
    }
    const auto& way = *opened;
    const auto deadline = [] { return system_clock().boot_now() + transport_patience; };
    const auto found = way->findings(deadline());
    if (!found.ok()) {
      add(name, {{Severity::error, found.error().text(), "is it up, and may we log in?"}});
    } else {
      for (const auto& text : *found) add(name, {{Severity::warning, text, {}}});
    }
    way->close(deadline());
  }

  [[nodiscard]] const std::vector<PlacedFinding>& findings() const noexcept { return findings_; }
  [[nodiscard]] bool fine() const {
    return std::ranges::all_of(findings_, [](const PlacedFinding& placed) {
      return placed.second.severity == Severity::info;
    });
  }

 private:
  void add(const std::string& where, const std::vector<spi::Finding>& found) {
    for (const auto& finding : found) findings_.emplace_back(where, finding);
  }

  void clock(const TableName& table) {
    const auto before = system_clock().wall_now();
    const auto stats = operations_.stats(table).value();
    const auto finding = admin::clock_finding(before, stats.now, system_clock().wall_now());
    if (finding) add(operations_.name(), {*finding});
  }

  Operations& operations_;
  std::vector<PlacedFinding> findings_;
};

}  // namespace

int run_doctor(const DoctorArguments& arguments) {
  Session session(arguments);
  Visit visit(session);
  visit.store();
  for (const auto& url : arguments.transports) visit.transport(url);
  if (session.json()) {
    session.out().print(findings_json(visit.findings()));
  } else {
    for (const auto& [where, finding] : visit.findings()) {
      session.print(finding_lines(finding, where));
    }
    if (visit.fine()) session.out().print(Line().add("nothing is wrong", Style::good));
  }
  return visit.fine() ? exit_fine : exit_failed;
}

}  // namespace sagabox::cli
