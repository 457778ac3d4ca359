#pragma once

#include <sagabox/result.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <utility>

namespace sagabox::cli {

/// An option that `parse` reads into `target`; what `parse` complains about is wrong use.
/// `target` lives until the command line has been read.
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
