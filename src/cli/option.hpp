#pragma once

#include <sagabox/result.hpp>

#include <CLI/CLI.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::cli {

/// The type of an option that takes one of a few words; help and completions show them.
inline std::string one_of(const std::string& type, std::initializer_list<std::string_view> words) {
  std::string list;
  for (const auto word : words) list += (list.empty() ? "" : ",") + std::string(word);
  return type + ":{" + list + "}";
}

/// An option that `parse` reads into `target`; an error of `parse` is reported as wrong use.
/// `target` must live until the command line has been read.
template <class Target, class Parse>
CLI::Option* add_option(CLI::App& app, std::string name, const std::string& type, Target& target,
                        Parse parse, const std::string& description) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &target, parse](const std::string& text) {
            auto value = parse(text);
            if (!value.ok()) throw CLI::ValidationError(name, value.error().message);
            target = std::move(value).value();
          },
          description)
      ->type_name(type);
}

}  // namespace sagabox::cli
