#include "cli/exit_codes.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/view_json.hpp"

#include <fmt/format.h>

#include <iostream>

namespace sagabox::cli {

int run_audit_verify(const AuditArguments& arguments) {
  Session session(arguments);
  const auto report = session.operations().verify_audit(arguments.anchor).value();
  const bool holds = report.problems_found == 0;
  if (session.json()) {
    session.out().print(audit_json_report(report));
    return holds ? exit_fine : exit_failed;
  }
  for (const auto& problem : report.problems) {
    session.out().print(Line().add("✗ ", Style::bad).add(problem));
  }
  if (report.problems_found > report.problems.size()) {
    session.out().print(fmt::format("and {} more", report.problems_found - report.problems.size()));
  }
  session.out().print(Line()
                          .add(holds ? "the log holds" : "the log was tampered with",
                               holds ? Style::good : Style::bad)
                          .add(fmt::format(": {} entries looked at", grouped(report.entries))));
  session.out().print(Line().add(fmt::format("keep elsewhere, for the next time: --anchor {}:{}",
                                             report.head.number, hex(report.head.hash)),
                                 Style::faint));
  return holds ? exit_fine : exit_failed;
}

int run_audit_export(const AuditArguments& arguments) {
  Session session(arguments);
  const auto lines = session.operations()
                         .export_audit(
                             [](std::string_view line) {
                               std::cout << line << '\n';
                               return std::cout.good();
                             },
                             arguments.after)
                         .value();
  std::cout.flush();
  std::cerr << lines << (lines == 1 ? " entry\n" : " entries\n");
  return std::cout.good() ? exit_fine : exit_failed;
}

}  // namespace sagabox::cli
