#include "cli/command_tree.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

namespace sagabox::cli {
namespace {

/// Escapes a text for single quotes of a shell.
std::string single(std::string_view text) { return replaced(text, "'", "'\\''"); }

/// `"dead" "dead list"`, each between `before` and `after`.
std::string paths(const Command& command, std::string_view before, std::string_view after) {
  std::string list;
  for_each_command(command, [&](const std::string& path, const Command&) {
    if (!path.empty()) list += fmt::format("{}{}{}", before, path, after);
  });
  return list;
}

std::string with_spaces(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : " ") + word;
  return list;
}

/// A line for each option with known values: `'dead list --kind') …message saga… ;;`.
std::string values_cases(const Command& command, std::string_view before, std::string_view after) {
  std::string cases;
  for_each_command(command, [&](const std::string& path, const Command& at) {
    for (const auto& option : at.options) {
      if (option.positional || option.values.empty()) continue;
      cases += fmt::format("    ('{} {}') {}{}{} ;;\n", path, option.names.back(), before,
                           with_spaces(option.values), after);
    }
  });
  return cases;
}

/// The words that may follow a verb besides options: its sub-verbs, or known values.
std::string words_behind(const Command& command) {
  std::string words;
  for (const auto& verb : command.verbs) words += verb.name + " ";
  for (const auto& option : command.options) {
    if (option.positional && !option.values.empty()) words += with_spaces(option.values) + " ";
  }
  return words;
}

std::string bash(const Command& command) {
  auto known = paths(command, "'", "'|");
  known.pop_back();
  std::string cases;
  for_each_command(command, [&](const std::string& path, const Command& at) {
    auto words = words_behind(at);
    for (const auto& option : at.options) {
      if (!option.positional) words += option.names.back() + " ";
    }
    words.pop_back();
    cases += fmt::format("    '{}') words='{}' ;;\n", path, words);
  });
  return fmt::format(R"sh(# bash completion of sagabox
_sagabox_tables() {{
  local -a typed asked=()
  local at
  read -ra typed <<< "$COMP_LINE"
  for ((at = 1; at + 1 < ${{#typed[@]}}; ++at)); do
    case "${{typed[at]}}" in
      --store|--schema|--server|--key-file|--ca) asked+=("${{typed[at]}}" "${{typed[at + 1]}}") ;;
    esac
  done
  sagabox table-names "${{asked[@]}}" 2>/dev/null
}}
_sagabox() {{
  local word chosen='' words=''
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{chosen:+$chosen }}$word" in
      {}) chosen="${{chosen:+$chosen }}$word" ;;
    esac
  done
  case "$chosen" in
{}  esac
  case "$chosen ${{COMP_WORDS[COMP_CWORD-1]}}" in
{}    (*' --table') words="$(_sagabox_tables)" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")
}}
complete -o default -F _sagabox sagabox
)sh",
                     known, cases, values_cases(command, "words='", "'"));
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
    for (const auto& option : at.options) {
      if (option.positional && !option.values.empty()) {
        cases += "      " + with_spaces(option.values) + "\n";
      }
    }
    cases += "    ) ;;\n";
  });
  return fmt::format(R"sh(#compdef sagabox
_sagabox() {{
  local word chosen=''
  local -a candidates
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "${{chosen:+$chosen }}$word" in
      ({}) chosen="${{chosen:+$chosen }}$word" ;;
    esac
  done
  case "$chosen ${{words[CURRENT-1]}}" in
{}    (*' --table') compadd -- ${{(f)"$(sagabox table-names 2>/dev/null)"}}; return ;;
  esac
  case "$chosen" in
{}  esac
  _describe sagabox candidates || _files
}}
if [[ "$funcstack[1]" = _sagabox ]]; then _sagabox "$@"; else compdef _sagabox sagabox; fi
)sh",
                     known, values_cases(command, "compadd -- ", "; return"), cases);
}

/// fish's description of an option's value.
std::string fish_value(const CommandOption& option) {
  if (option.names_table) return " -x -a '(sagabox table-names 2>/dev/null)'";
  if (!option.values.empty()) return fmt::format(" -x -a '{}'", with_spaces(option.values));
  return option.type.empty() ? "" : " -r";
}

std::string fish(const Command& command) {
  std::string lines;
  for_each_command(command, [&](const std::string& path, const Command& at) {
    const auto here = fmt::format("complete -c sagabox -n '__sagabox_at \"{}\"'", path);
    for (const auto& verb : at.verbs) {
      lines += fmt::format("{} -f -a {} -d '{}'\n", here, verb.name, single(verb.description));
    }
    for (const auto& option : at.options) {
      if (option.positional) {
        if (!option.values.empty())
          lines += fmt::format("{} -f -a '{}'\n", here, with_spaces(option.values));
        continue;
      }
      std::string names;
      for (const auto& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      lines += fmt::format("{}{}{} -d '{}'\n", here, names, fish_value(option),
                           single(option.description));
    }
  });
  return fmt::format(R"sh(# fish completion of sagabox
function __sagabox_at
  set -l chosen
  for word in (commandline -opc)[2..-1]
    if contains -- (string join ' ' $chosen $word){}
      set -a chosen $word
    end
  end
  test "$chosen" = "$argv[1]"
end
{})sh",
                     paths(command, " '", "'"), lines);
}

}  // namespace

std::string completion(const Command& command, std::string_view shell) {
  if (shell == "bash") return bash(command);
  if (shell == "zsh") return zsh(command);
  return shell == "fish" ? fish(command) : std::string();
}

}  // namespace sagabox::cli
