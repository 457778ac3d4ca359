#include "cli/command_tree.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

namespace sagabox::cli {
namespace {

/// Between single quotes of a shell.
std::string single(std::string_view text) { return replaced(text, "'", "'\\''"); }

/// `"dead" "dead list"`, each behind `before` and before `after`.
std::string paths(const Command& command, std::string_view before, std::string_view after) {
  std::string list;
  for_each_command(command, [&](const std::string& path, const Command&) {
    if (!path.empty()) list += fmt::format("{}{}{}", before, path, after);
  });
  return list;
}

std::string bash(const Command& command) {
  auto known = paths(command, "'", "'|");
  known.pop_back();
  std::string cases;
  for_each_command(command, [&](const std::string& path, const Command& at) {
    std::string words;
    for (const auto& verb : at.verbs) words += verb.name + " ";
    for (const auto& option : at.options) {
      if (!option.positional) words += option.names.back() + " ";
    }
    words.pop_back();
    cases += fmt::format("    '{}') words='{}' ;;\n", path, words);
  });
  return fmt::format(R"(# bash completion of sagabox
_sagabox() {{
  local word chosen='' words=''
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{chosen:+$chosen }}$word" in
      {}) chosen="${{chosen:+$chosen }}$word" ;;
    esac
  done
  case "$chosen" in
{}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")
}}
complete -o default -F _sagabox sagabox
)",
                     known, cases);
}

std::string zsh(const Command& command) {
  auto known = paths(command, "'", "'|");
  known.pop_back();
  std::string cases;
  for_each_command(command, [&](const std::string& path, const Command& at) {
    cases += fmt::format("    ('{}') candidates=(\n", path);
    for (const auto& verb : at.verbs) {
      cases += fmt::format("      '{}:{}'\n", verb.name, single(verb.description));
    }
    for (const auto& option : at.options) {
      if (option.positional) continue;
      cases += fmt::format("      '{}:{}'\n", option.names.back(), single(option.description));
    }
    cases += "    ) ;;\n";
  });
  return fmt::format(R"(#compdef sagabox
_sagabox() {{
  local word chosen=''
  local -a candidates
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "${{chosen:+$chosen }}$word" in
      ({}) chosen="${{chosen:+$chosen }}$word" ;;
    esac
  done
  case "$chosen" in
{}  esac
  _describe sagabox candidates || _files
}}
if [[ "$funcstack[1]" = _sagabox ]]; then _sagabox "$@"; else compdef _sagabox sagabox; fi
)",
                     known, cases);
}

std::string fish(const Command& command) {
  std::string lines;
  for_each_command(command, [&](const std::string& path, const Command& at) {
    const auto here = fmt::format("complete -c sagabox -n '__sagabox_at \"{}\"'", path);
    for (const auto& verb : at.verbs) {
      lines += fmt::format("{} -f -a {} -d '{}'\n", here, verb.name, single(verb.description));
    }
    for (const auto& option : at.options) {
      if (option.positional) continue;
      std::string names;
      for (const auto& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      lines += fmt::format("{}{}{} -d '{}'\n", here, names, option.type.empty() ? "" : " -r",
                           single(option.description));
    }
  });
  return fmt::format(R"(# fish completion of sagabox
function __sagabox_at
  set -l chosen
  for word in (commandline -opc)[2..-1]
    if contains -- (string join ' ' $chosen $word){}
      set -a chosen $word
    end
  end
  test "$chosen" = "$argv[1]"
end
{})",
                     paths(command, " '", "'"), lines);
}

}  // namespace

std::string completion(const Command& command, std::string_view shell) {
  if (shell == "bash") return bash(command);
  if (shell == "zsh") return zsh(command);
  return shell == "fish" ? fish(command) : std::string();
}

}  // namespace sagabox::cli
