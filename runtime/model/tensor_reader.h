// Tensors of a model by the names that its family gives them, as the arguments of Graph calls.
//
// A name is written with every spelling that is published, separated by '|', '#' standing for the number of the layer:
// "encoder.layers.#.norm1|layers.#.post_attention_layernorm". Each spelling is tried with each prefix of the family ("",
// "bert."). A tensor that is missing is not_found and lists all that was tried; one of another shape or dtype is corrupt_data or
// unsupported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtime/model/safetensors.h"
#include "saccade/tensor.h"

namespace saccade {
inline namespace v0 {

// Calls f with each part of a list separated by '|'.
template <class F>
void each_part(std::string_view list, F&& f) {
  for (size_t from = 0;;) {
    const size_t to = std::min(list.find('|', from), list.size());
    f(list.substr(from, to - from));
    if (to == list.size()) return;
    from = to + 1;
  }
}

struct Linear {
  Weight weight;
  Vector bias;  // empty: none
};

// Gain and bias of a norm.
struct Norm {
  Vector gain, bias;
};

class TensorReader {
 public:
  // `prefixes` separated by '|' as spellings are: "|bert." tries none, then "bert.".
  TensorReader(const TensorFiles& files, std::string_view prefixes) : files_(files), prefixes_(prefixes) {}

  bool has(std::string_view names, int64_t layer = 0) const;  // whether it has a .weight

  // NAME.weight [out, in], and NAME.bias [out] with `bias`. The weight's pages are given back with its last owner.
  Linear linear(std::string_view names, int64_t layer, int64_t in, int64_t out, bool bias = true);
  // `parts.size()` linears [out, in]: views of one tensor `fused` [parts * out, in] if it is there, else a tensor of its own
  // each.
  std::vector<Linear> linears(std::string_view fused, std::span<const std::string_view> parts, int64_t layer, int64_t in,
                              int64_t out, bool bias);
  Norm norm(std::string_view names, int64_t layer, int64_t width, bool bias = true);  // .weight or .gamma, .bias or .beta
  Table table(std::string_view names, int64_t rows, int64_t width);                   // keeps the mapping
  Vector vector(std::string_view names, int64_t size);                                // the whole name, no suffix is added
  // The rows of a table as a linear [rows, width]: the decoder that is tied to the word embeddings.
  static Weight tied(const Table& table);

  int64_t parameters() const;               // numbers in the tensors that were read
  std::string dtype() const;                // of those: "f32", "f16", "bf16" or "mixed"
  std::vector<std::string> unused() const;  // names of tensors that were not read, buffers of indices left out

 private:
  std::vector<std::string> spellings(std::string_view names, int64_t layer, std::string_view suffixes) const;
  const Tensor* find(std::span<const std::string> spellings) const;
  const Tensor& read(std::span<const std::string> spellings, std::initializer_list<int64_t> shape);

  const TensorFiles& files_;
  std::string_view prefixes_;
  std::unordered_set<const Tensor*> read_;
};

}  // namespace v0
}  // namespace saccade
