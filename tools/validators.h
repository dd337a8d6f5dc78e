// Validators of options whose conditions the help texts tell in words.
#pragma once

#include <CLI/CLI.hpp>

namespace saccade::tool {

template <class Number>
CLI::Validator range(Number low, Number high) {
  return CLI::Range(low, high).description("");
}
// An unset shell variable is not the same as no option.
inline CLI::Validator not_empty() {
  return CLI::Validator([](std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); }, "", "not_empty");
}
inline CLI::Validator existing_file() { return CLI::Validator(CLI::ExistingFile).description(""); }

}  // namespace saccade::tool
