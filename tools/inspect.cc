// saccade inspect: what a model directory is, as its files say, and what it becomes here.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/console.h"
#include "tools/model.h"

namespace saccade::tool {
namespace {

// What the arena grows by for each token of a long batch of short texts.
int64_t arena_bytes_per_token(const Plan& plan) {
  constexpr int64_t kTokens = 8192, kMore = 1024, kLength = 128;
  return (plan.workspace_bytes(kTokens + kMore, (kTokens + kMore) / kLength) - plan.workspace_bytes(kTokens, kTokens / kLength)) /
         kMore;
}

Json info_json(const EncoderInfo& info, const Tokenizer& tokenizer, const Plan& plan) {
  Json prompts = Json::object();
  for (const auto& [name, text] : info.prompts) prompts[name] = text;
  return {{"directory", info.directory},
          {"family", info.family},
          {"architecture", info.architecture},
          {"dtype", info.dtype},
          {"layers", info.layers},
          {"width", info.width},
          {"heads", info.heads},
          {"ffn", info.ffn},
          {"vocabulary", info.vocabulary},
          {"parameters", info.parameters},
          {"tokenizer", info.tokenizer},
          {"tokenizer_file", tokenizer.source()},
          {"max_tokens", info.max_tokens},
          {"output_width", info.output_width},
          {"pooling", pooling_name(info.pooling)},
          {"pooling_source", info.pooling_source},
          {"normalize", info.normalize},
          {"modules", info.modules},
          {"prompts", prompts},
          {"default_prompt", info.default_prompt},
          {"similarity", info.similarity},
          {"head", head_name(info.head)},
          {"labels", info.labels},
          {"sigmoid", info.sigmoid},
          {"unused_tensors", info.unused_tensors},
          {"weight_bytes", info.weight_bytes},
          {"arena_bytes_per_token", arena_bytes_per_token(plan)},
          {"plan", Json::parse(plan.describe_json())}};
}

// "a, b, c, ..." with at most `most` of them.
std::string list(const std::vector<std::string>& names, size_t most) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), most); ++i) shown.push_back(printable(names[i], 60));
  if (names.size() > most) shown.push_back(fmt::format("... ({} in all)", names.size()));
  return fmt::format("{}", fmt::join(shown, ", "));
}

}  // namespace

int run_inspect(const ModelOptions& options) {
  const Setup setup = make_setup(options);
  const Encoder encoder = load_encoder(options, setup);
  const EncoderInfo& info = encoder.info();
  const Plan plan = take(encoder.plan());
  if (options.json) {
    print_envelope("inspect", info_json(info, encoder.tokenizer(), plan));
    return kDone;
  }
  const auto line = [](const char* key, const std::string& value) { fmt::print("{:<14}{}\n", key, value); };
  const auto count = [](int64_t number) { return thousands(static_cast<double>(number)); };
  line("model", printable(info.directory));
  line("family", fmt::format("{} ({}), {} weights", info.family, printable(info.architecture), info.dtype));
  line("sizes", fmt::format("{} layers, {} wide, {} heads, FFN {}, vocabulary {}", info.layers, info.width, info.heads, info.ffn,
                            count(info.vocabulary)));
  line("parameters", count(info.parameters));
  line("tokenizer", fmt::format("{} from {}", info.tokenizer, printable(encoder.tokenizer().source())));
  line("longest text", fmt::format("{} tokens, special ones included", count(info.max_tokens)));
  if (!info.pooling_source.empty()) {
    line("pooling", fmt::format("{} ({})", pooling_name(info.pooling), printable(info.pooling_source)));
  }
  line("modules", list(info.modules, 20));
  line("vectors",
       fmt::format("{} numbers{}, compared by {}", info.output_width, info.normalize ? ", length 1" : "", info.similarity));
  for (const auto& [name, text] : info.prompts) {
    const bool is_default = name == info.default_prompt;
    line("prompt", fmt::format("{}: \"{}\"{}", printable(name, 40), printable(text, 200), is_default ? " (the default)" : ""));
  }
  if (info.head != Head::kNone) {
    line("head", fmt::format("{}{}{}", head_name(info.head), info.labels.empty() ? "" : ": " + list(info.labels, 10),
                             info.sigmoid ? ", scores through a sigmoid" : ""));
  }
  if (!info.unused_tensors.empty()) line("unused", list(info.unused_tensors, 10));
  line("memory",
       fmt::format("weights {}, arena {} a token", bytes_text(info.weight_bytes), bytes_text(arena_bytes_per_token(plan))));
  fmt::print("\n{}", plan.describe());
  return kDone;
}

}  // namespace saccade::tool
