// Validators of options whose conditions the help texts tell in words.
#pragma once

#include <CLI/CLI.hpp>

namespace saccade::tool {

template <class Number>
CLI::Validator range(Number low, Number high) {
  return CLI::Range(low, high).description("");
}
inline CLI::Validator existing_file() { return CLI::Validator(CLI::ExistingFile).description(""); }

}  // namespace saccade::tool
