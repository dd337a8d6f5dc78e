// saccade similarity: the cosine of every two texts, as a shaded table.
#include <fmt/core.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/console.h"
#include "tools/model.h"

namespace saccade::tool {
namespace {

constexpr size_t kMostTexts = 64;  // a table of more is not read

// a.b / (|a| |b|); 0 for a vector of length 0.
double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    ab += x * y, aa += x * x, bb += y * y;
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

int run_similarity(const EncodeTextOptions& options) {
  const Setup setup = make_setup(options);
  TextReader reader(options);
  const std::vector<std::string> texts = reader.all();
  if (texts.size() > kMostTexts) {
    throw Failure(kFailure, fmt::format("{}: {} texts; a table has at most {}", reader.name(), texts.size(), kMostTexts));
  }
  const Encoder encoder = load_encoder(options, setup);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const std::vector<float> vectors = take(encoder.encode(views, encode_options(options)));
  const auto vector_of = [&](size_t i) {
    const auto width = static_cast<size_t>(encoder.info().output_width);
    return std::span(vectors).subspan(i * width, width);
  };

  Json rows = Json::array();
  Table table;
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
