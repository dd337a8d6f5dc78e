// saccade similarity: the cosine of every two texts, as a shaded table.
#include <fmt/core.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/console.h"
#include "tools/model.h"

namespace saccade::tool {
namespace {

constexpr size_t kMostTexts = 64;  // a table of more is not read

// a.b / (|a| |b|); 0 for a vector of length 0, NaN for one that holds a NaN.
double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    ab += x * y, aa += x * x, bb += y * y;
  }
  return aa == 0 || bb == 0 ? 0 : ab / std::sqrt(aa * bb);
}

}  // namespace

int run_similarity(const EncodeTextOptions& options) {
  const Setup setup = make_setup(options);
  TextReader reader(options);
  const std::vector<std::string> texts = reader.all(kMostTexts + 1);
  if (texts.size() > kMostTexts) {
    throw Failure(kFailure,
                  fmt::format("{}: holds more than {} texts, and a table at most {}", reader.name(), kMostTexts, kMostTexts));
  }
  const Encoder encoder = load_encoder(options, setup);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const EncodeOptions how = encode_options(options);
  Result<std::vector<float>> encoded = encoder.encode(views, how);
  if (encoded.status().code() == Code::kOutOfRange) {
    fail_at_line(reader, 0, texts.size(), [&](size_t i) { return encoder.encode({&views[i], 1}, how).status(); });
  }
  const std::vector<float> vectors = take(std::move(encoded));
  const auto vector_of = [&](size_t i) {
    const auto width = static_cast<size_t>(encoder.info().output_width);
    return std::span(vectors).subspan(i * width, width);
  };

  Json rows = Json::array();
  TextTable table;
  std::vector<Cell> head = {""};
  for (size_t i = 0; i < texts.size(); ++i) head.push_back(fmt::format("[{}]   ", i));  // above the digits, not the glyphs
  table.add(head);
  for (size_t i = 0; i < texts.size(); ++i) {
    Json row = Json::array();
    std::vector<Cell> cells = {fmt::format("[{}] {}", i, printable(texts[i], 40))};
    for (size_t j = 0; j < texts.size(); ++j) {
      const double value = cosine(vector_of(i), vector_of(j));
      row.push_back(value);
      cells.push_back(shaded(value, 2));
    }
    rows.push_back(row);
    table.add(cells);
  }
  if (options.json) {
    print_envelope("similarity", {{"texts", texts}, {"cosines", rows}});
  } else {
    table.print();
  }
  return kDone;
}

}  // namespace saccade::tool
