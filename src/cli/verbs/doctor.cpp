#include "cli/exit_codes.hpp"
#include "cli/verbs/config.hpp"
#include "cli/verbs/doctor_visit.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/message_view.hpp"
#include "cli/views/view_json.hpp"
#include "core/masked_url.hpp"

#include <sagabox/open.hpp>

namespace sagabox::cli {
namespace {

void visit_transport(DoctorVisit& visit, const std::string& url) {
  auto opened = open_transport(url);
  if (!opened.ok() && opened.error().code == Code::config_invalid) {
    throw WrongUse("--transport: " + opened.error().text());
  }
  visit.transport(masked_url(url), *opened.value());
}

void visit_configuration(DoctorVisit& visit, const std::string& path) {
  const auto configured = checked_configuration(configuration_source(path));
  for (const auto& problem : configured.problems) {
    visit.add("configuration", {{Severity::error, problem, "sagabox config check"}});
  }
  if (configured.problems.empty()) visit.configuration(configured.configuration);
  visit.mask(configured.secrets);
}

int tell(const DoctorVisit& visit, bool as_json) {
  Terminal out(stdout);
  if (as_json) {
    out.print(findings_json(visit.findings()));
  } else {
    for (const auto& [where, finding] : visit.findings()) {
      for (const auto& line : finding_lines(finding, where)) out.print(line);
    }
    if (visit.fine()) out.print(Line().add("nothing is wrong", Style::good));
  }
  return visit.fine() ? exit_fine : exit_failed;
}

}  // namespace

int run_doctor(const DoctorArguments& arguments) {
  DoctorVisit visit;
  if (arguments.config.empty()) {
    visit.store(Session(arguments).operations());
  } else {
    visit_configuration(visit, arguments.config);
  }
  for (const auto& url : arguments.transports) visit_transport(visit, url);
  return tell(visit, arguments.json);
}

}  // namespace sagabox::cli
