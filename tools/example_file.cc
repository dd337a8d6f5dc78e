// The worked example's file: inputs, expected values and printed numbers. Nothing in it is trusted.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tools/console.h"
#include "tools/demo.h"

namespace saccade::tool {

extern const char kSeedExample[];  // cmake/embed.cmake
extern const unsigned long kSeedExampleSize;

namespace {

// Members of the file; every message names the file and the member.
class Reader {
 public:
  Reader(const Json& json, std::string source) : json_(json), source_(std::move(source)) {}

  [[noreturn]] void fail(const std::string& what) const { throw Failure(kFailure, source_ + ": " + what); }

  const Json& member(const Json& object, const std::string& name) const {
    if (!object.is_object() || !object.contains(name)) fail("\"" + name + "\" is missing");
    return object[name];
  }
  const Json& member(const std::string& name) const { return member(json_, name); }

  float number(const Json& value, const std::string& name) const {
    if (!value.is_number()) fail("\"" + name + "\" should be a number");
    return value.get<float>();
  }

  // [rows][columns], every row as wide as the first.
  Tensor matrix(const Json& value, const std::string& name) const {
    if (!value.is_array() || value.empty()) fail("\"" + name + "\" should be a matrix");
    Tensor tensor;
    tensor.shape = {static_cast<int64_t>(value.size()), static_cast<int64_t>(value[0].size())};
    for (size_t r = 0; r < value.size(); ++r) {
      if (!value[r].is_array() || value[r].empty() || value[r].size() != value[0].size()) {
        fail(fmt::format("\"{}\" row {} has {} numbers, expected {}", name, r, value[r].is_array() ? value[r].size() : 0,
                         value[0].size()));
      }
      for (const Json& x : value[r]) tensor.values.push_back(number(x, name));
    }
    return tensor;
  }
  Tensor matrix(const std::string& name, int64_t rows = 0) const {
    Tensor tensor = matrix(member(name), name);
    if (rows != 0 && tensor.shape[0] != rows) fail(fmt::format("\"{}\" has {} rows, expected {}", name, tensor.shape[0], rows));
    return tensor;
  }

 private:
  const Json& json_;
  std::string source_;
};

}  // namespace

Example load_example(const std::string& file) {
  Example example;
  example.source = file.empty() ? "built-in example" : printable(file);
  const std::string text = file.empty() ? std::string(kSeedExample, kSeedExampleSize) : read_file(file);
  example.document = std::make_shared<const Json>(Json::parse(text, nullptr, false));
  const Reader reader(*example.document, example.source);
  if (example.document->is_discarded()) reader.fail("not a JSON document");

  example.x = reader.matrix("X");
  const int64_t tokens = example.x.shape[0], width = example.x.shape[1];
  example.wq = reader.matrix("Wq", width);
  example.wk = reader.matrix("Wk", width);
  example.wv = reader.matrix("Wv", width);
  if (example.wq.shape[1] != example.wk.shape[1]) reader.fail("\"Wq\" and \"Wk\" differ in their number of columns");
  example.mask_fill = reader.number(reader.member("mask_fill"), "mask_fill");

  const Json &names = reader.member("tokens"), &mask = reader.member("pad_mask");
  if (!names.is_array() || static_cast<int64_t>(names.size()) != tokens)
    reader.fail(fmt::format("\"tokens\" should be {} strings", tokens));
  if (!mask.is_array() || static_cast<int64_t>(mask.size()) != tokens)
    reader.fail(fmt::format("\"pad_mask\" should be {} numbers", tokens));
  for (int64_t t = 0; t < tokens; ++t) {
    const Json &name = names[static_cast<size_t>(t)], &keep = mask[static_cast<size_t>(t)];
    if (!name.is_string()) reader.fail(fmt::format("\"tokens\" should be {} strings", tokens));
    if (keep != 0 && keep != 1) reader.fail("\"pad_mask\" should hold 0 and 1 only");
    example.tokens.push_back(printable(name.get<std::string>(), 12));
    example.pad_mask.push_back(keep.get<uint8_t>());
  }
  return example;
}

double difference(float got, double want) {
  const double error = std::fabs(static_cast<double>(got) - want);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double error_against_expected(const Example& example, const Tensors& tensors) {
  const Reader reader(*example.document, example.source);
  double worst = 0;
  for (const char* name : {"Q", "K", "V", "scores", "scaled", "weights", "output"}) {
    const Json& rows = reader.member(reader.member("expected"), name);
    const Tensor& got = tensors.at(name);
    if (reader.matrix(rows, name).shape != got.shape)
      reader.fail(fmt::format("\"expected.{}\" should be [{}, {}]", name, got.shape[0], got.shape[1]));
    size_t at = 0;
    for (const Json& row : rows) {
      for (const Json& want : row) worst = std::max(worst, difference(got.values[at++], want.get<double>()));
    }
  }
  return worst;
}

Reproduction reproduce(const Example& example, const Tensors& tensors) {
  const Reader reader(*example.document, example.source);
  const Json& list = reader.member("printed");
  if (!list.is_array()) reader.fail("\"printed\" should be an array");
  Reproduction result;
  for (const char* group : {"entry", "shape", "simulation"}) result.groups[group] = {};
  for (size_t p = 0; p < list.size(); ++p) try {
      const Json& entry = list[p];
      const std::string name = entry.at("name"), group = entry.at("group");
      const std::vector<int64_t> indices = entry.at("indices");
      const auto tensor = tensors.find(name);
      if (tensor == tensors.end())
        reader.fail(fmt::format("\"printed\" {} names \"{}\", which is no result", p, printable(name, 40)));
      if (!result.groups.contains(group))
        reader.fail(fmt::format("\"printed\" {} has the unknown group \"{}\"", p, printable(group, 40)));
      const std::vector<int64_t>& shape = tensor->second.shape;

      bool reproduced = false;
      std::string got_text;
      if (group == "shape") {
        reproduced = entry.at("value").get<std::vector<int64_t>>() == shape;
        got_text = Json(shape).dump();
      } else {
        if (indices.size() != shape.size()) reader.fail(fmt::format("\"printed\" {}: {} has {} indices", p, name, shape.size()));
        int64_t at = 0;
        for (size_t i = 0; i < shape.size(); ++i) {
          if (indices[i] < 0 || indices[i] >= shape[i])
            reader.fail(fmt::format("\"printed\" {}: index {} of {} is outside", p, indices[i], name));
          at = at * shape[i] + indices[i];
        }
        const double value = entry.at("value"), decimals = entry.at("decimals");
        const double got = static_cast<double>(tensor->second.values[static_cast<size_t>(at)]) * entry.value("multiplier", 1.0);
        reproduced = entry.value("exact", false) ? got == value : std::fabs(got - value) < 0.5 * std::pow(10.0, -decimals);
        got_text = fmt::format("{:.8g}", got);
      }
      for (Count* count : {&result.all, &result.groups[group]}) {
        ++count->printed;
        count->reproduced += reproduced ? 1 : 0;
      }
      if (!reproduced) {
        result.missed.push_back(fmt::format("{}{} was printed as {}, got {} ({})", name, entry.at("indices").dump(),
                                            entry.at("value").dump(), got_text,
                                            printable(entry.value("source_phrase_in_english", ""), 80)));
      }
    } catch (const nlohmann::json::exception&) {
      reader.fail(fmt::format("\"printed\" {} lacks a member or has one of the wrong type", p));
    }
  return result;
}

std::string published(const Example& example, const std::string& name, size_t index) {
  for (const Json& entry : example.document->at("printed")) {  // reproduce() has read them all
    if (entry["group"] == "shape" || entry.contains("multiplier")) continue;
    if (entry["name"] == name && entry["indices"] == Json::array({index})) {
      return fmt::format("{:.{}f}", entry["value"].get<double>(), std::clamp(entry["decimals"].get<int>(), 0, 15));
    }
  }
  return "-";
}

}  // namespace saccade::tool
