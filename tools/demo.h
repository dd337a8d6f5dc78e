// The three parts of `saccade demo`.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/machine_report.h"

namespace saccade::tool {

// A result by name, as the example file names it; [rows, columns], [n] or a single number (no shape).
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
using Tensors = std::map<std::string, Tensor>;

// ---- (a) the worked example
struct Example {
  std::string source;  // for messages
  std::shared_ptr<const Json> document;
  std::vector<std::string> tokens;
  std::vector<uint8_t> pad_mask;
  float mask_fill = 0;
  Tensor x, wq, wk, wv;
};
Example load_example(const std::string& file);  // empty: the built-in one

// Everything that the example prints, computed in f32 by the library.
struct ExampleRun {
  Tensors tensors;
  double max_error = 0;    // over Q, K, V, scores, scaled, weights and output, against `expected`
  double graph_error = 0;  // largest difference of a graph's live output row from attention()'s
};
ExampleRun run_example(const Example& example, const Setup& setup);

struct Count {
  int64_t printed = 0, reproduced = 0;
};
struct Reproduction {
  Count all;
  std::map<std::string, Count> groups;  // entry, shape, simulation
  std::vector<std::string> missed;      // one line each
};
double error_against_expected(const Example& example, const Tensors& tensors);
// |got - want|; infinite for NaN, so that no comparison can miss it.
double difference(float got, double want);

// Compares the printed numbers of the example with the tensors of that name.
Reproduction reproduce(const Example& example, const Tensors& tensors);

void print_example(const Example& example, const ExampleRun& run, const Reproduction& reproduction);

// ---- (b) why scores are divided by sqrt(d)
struct ScalingRow {
  int64_t d = 0;
  double std_theory = 0;            // sqrt(d)
  double std = 0;                   // of the sampled dot products
  double unscaled = 0, scaled = 0;  // mean largest weight
};
std::vector<ScalingRow> run_scaling(const Setup& setup);
Tensors scaling_tensors(const std::vector<ScalingRow>& rows);  // under the names of the example file
// "0.70", the number that the example prints under that name for row `index`, or "-".
std::string published(const Example& example, const std::string& name, size_t index);
void print_scaling(const Example& example, const std::vector<ScalingRow>& rows);

// ---- (c) an encoder, checked and timed
struct EncoderRun {
  int64_t tokens = 0, padded_tokens = 0;
  int64_t sequences = 0, checked = 0;
  EncoderShape shape;
  double max_error = 0;
  double seconds = 0, padded_seconds = 0;  // best of the repeats
  double gflops = 0, padded_gflops = 0;
};
inline constexpr double kEncoderTolerance = 1e-5;
EncoderRun run_encoder(const Setup& setup, bool quick);
void print_encoder(const EncoderRun& run, double peak_gflops, const Setup& setup);

}  // namespace saccade::tool
