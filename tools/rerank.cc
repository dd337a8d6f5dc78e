// saccade rerank: texts in the order of their scores for a query, by a cross-encoder.
#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/console.h"
#include "tools/model.h"
#include "tools/progress_bar.h"

namespace saccade::tool {

int run_rerank(const RerankOptions& options) {
  const Setup setup = make_setup(options);
  TextReader reader(options);
  const Encoder encoder = load_encoder(options, setup);
  const EncoderInfo& info = encoder.info();
  if (info.head != Head::kSequenceClassification || info.labels.size() != 1) {
    throw Failure(kModelUnusable,
                  fmt::format("{}: {} is no reranker: it has a head for {} with {} labels, a reranker has one for sequence "
                              "classification with one label",
                              printable(options.model), printable(info.architecture), head_name(info.head), info.labels.size()));
  }
  const std::vector<std::string> texts = reader.all();
  std::vector<TextPair> pairs;
  for (const std::string& text : texts) pairs.push_back({options.query, text});
  std::vector<float> scores(texts.size());
  {
    ProgressBar bar("scoring", "texts");
    EncodeOptions how = encode_options(options);
    how.progress = [&](int64_t done, int64_t total) { bar.at(done, static_cast<double>(done) / static_cast<double>(total)); };
    const Status status = encoder.encode_pairs(pairs, Matrix(scores.data(), std::ssize(texts), 1), how);
    if (status.code() == Code::kOutOfRange) {
      how.progress = nullptr;
      const auto score = [&](TextPair pair) {
        float one = 0;
        return encoder.encode_pairs({&pair, 1}, Matrix(&one, 1, 1), how);
      };
      if (const Status alone = score({options.query, ""}); !alone.ok())
        throw Failure(kFailure, "--query: " + about_one_text(alone));
      fail_at_line(reader, 0, texts.size(), [&](size_t i) { return score(pairs[i]); });
    }
    check(status);
  }

  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  if (options.json) {
    Json ranked = Json::array();
    for (const size_t i : order) ranked.push_back({{"index", i}, {"score", scores[i]}, {"text", texts[i]}});
    print_envelope("rerank", {{"query", options.query}, {"sigmoid", info.sigmoid}, {"ranked", ranked}});
    return kDone;
  }
  for (const size_t i : order)
    fmt::print("{:>10}  {:>6}  {}\n", significant(static_cast<double>(scores[i])), i, printable(texts[i], 100));
  return kDone;
}

}  // namespace saccade::tool
