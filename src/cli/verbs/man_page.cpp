#include "cli/command_tree.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sagabox::cli {
namespace {

/// Escapes a text for roff, on lines of its own.
std::string roff(std::string_view text) {
  auto clean = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  for (const std::string_view start : {".", "'"}) {
    clean = replaced(clean, "\n" + std::string(start), "\n\\&" + std::string(start));
    if (clean.starts_with(start)) clean = "\\&" + clean;
  }
  return clean;
}

/// Options of nearly every verb are described once.
bool is_common(const CommandOption& option) {
  return !option.variable.empty() || option.names.back() == "--json" ||
         option.names.back() == "--help";
}

std::string option_text(const CommandOption& option) {
  std::string names;
  for (const auto& name : option.names) {
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  }
  if (!option.type.empty()) names += " \\fI" + roff(option.type) + "\\fR";
  return fmt::format(".TP\n{}\n{}{}\n", names, roff(option.description),
                     option.required ? " (needed)" : "");
}

std::string command_text(const std::string& path, const Command& command) {
  auto text = fmt::format(".SS sagabox {}\n{}.\n", roff(path), roff(command.description));
  for (const auto& option : command.options) {
    if (!is_common(option)) text += option_text(option);
  }
  if (!command.footer.empty()) {
    text += ".PP\n.nf\n" + roff(command.footer) + "\n.fi\n";
  }
  return text;
}

}  // namespace

std::string man_page(const Command& command, std::string_view version) {
  std::string verbs;
  std::map<std::string, CommandOption> common;
  for_each_command(command, [&](const std::string& path, const Command& at) {
    if (!path.empty()) verbs += command_text(path, at);
    for (const auto& option : at.options) {
      if (is_common(option)) common.emplace(option.names.back(), option);
    }
  });
  std::string options;
  std::string variables;
  for (const auto& [name, option] : common) {
    options += option_text(option);
    if (option.variable.empty()) continue;
    variables += fmt::format(".TP\n\\fB{}\\fR\nFor \\fB{}\\fR, where that is not given.\n",
                             roff(option.variable), roff(name));
  }
  return fmt::format(R"(.\" Made by "sagabox man" from the command line itself; do not edit.
.TH SAGABOX 1 "" "sagabox {0}" "User Commands"
.SH NAME
sagabox \- transactional outbox: deliver, look, operate
.SH SYNOPSIS
.B sagabox
.I VERB
.RI [ OPTIONS ]
.SH DESCRIPTION
{1}
.PP
Tables are for people, \fB\-\-json\fR is for programs. Colours only on a terminal.
.SH COMMON OPTIONS
{2}.SH VERBS
{3}.SH ENVIRONMENT
{4}.TP
\fBNO_COLOR\fR
No colours, also on a terminal.
.SH EXIT STATUS
0: fine. 1: it failed, or something is wrong. 2: wrong use.
)",
                     version, roff(command.description), options, verbs, variables);
}

}  // namespace sagabox::cli
