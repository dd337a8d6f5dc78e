#include "runtime/model/vector_graph.h"

#include <vector>

#include "runtime/graph/check.h"
#include "runtime/model/safetensors.h"
#include "runtime/model/tensor_reader.h"

namespace saccade {
inline namespace v0 {
namespace {

struct NamedPooling {
  Pooling pooling;
  const char* name;
};
constexpr NamedPooling kNamedPoolings[] = {
    {Pooling::kMean, "mean"}, {Pooling::kFirst, "cls"}, {Pooling::kLast, "last"}, {Pooling::kMax, "max"}};

// The tensors of a dense module.
struct DenseTensors {
  DenseModule module;
  Linear linear;
  std::optional<Weight> residual;  // where the widths differ
};

DenseTensors read_dense_tensors(const DenseModule& module, int64_t width) {
  if (module.in != width) {
    fail(Code::kCorruptData, module.directory, "/config.json: in_features: expected ", width,
         ", the width of the vectors so far, found ", module.in);
  }
  const TensorFiles files(module.directory);
  TensorReader reader(files, "");
  DenseTensors dense{module, reader.linear("linear", 0, module.in, module.out, module.bias), std::nullopt};
  if (module.residual && module.in != module.out) {
    dense.residual = reader.linear("residual", 0, module.in, module.out, false).weight;
  }
  return dense;
}

Value add_dense(Graph& graph, Value x, const DenseTensors& dense) {
  Value y = graph.activation(graph.linear(x, dense.linear.weight, dense.linear.bias), dense.module.activation);
  if (!dense.module.residual) return y;
  return graph.add(y, dense.residual ? graph.linear(x, *dense.residual) : x);
}

bool same_ids(const Tokenizer& tokenizer, std::string_view a, std::string_view b) {
  Tokens one, other;
  const bool read = tokenizer.encode(a, {}, one).ok() && tokenizer.encode(b, {}, other).ok();
  return read && one.ids == other.ids;
}

}  // namespace

std::string vector_output(Pooling pooling, bool normalize) {
  for (const auto& [value, name] : kNamedPoolings) {
    if (value == pooling) return text(name, normalize ? ", length 1" : "");
  }
  fail(Code::kInvalidArgument, "encode: pooling ", static_cast<int>(pooling), " is none of the four");
}

int64_t add_vector_outputs(ModelGraph& model, const Modules& modules) {
  std::vector<std::optional<DenseTensors>> after;
  int64_t width = model.width;
  for (const VectorModule& module : modules.after) {
    after.emplace_back();
    if (!module) continue;
    after.back() = read_dense_tensors(*module, width);
    width = module->out;
  }
  Graph& graph = model.graph;
  for (const auto& [pooling, name] : kNamedPoolings) {
    Value x = graph.pool(model.hidden, pooling);
    for (const auto& dense : after) x = dense ? add_dense(graph, x, *dense) : graph.l2_normalize(x);
    graph.output(vector_output(pooling, false), x);
    graph.output(vector_output(pooling, true), graph.l2_normalize(x));
  }
  if (model.head == Head::kSequenceClassification) {
    graph.output("scores", graph.activation(model.logits, Activation::kSigmoid));
  }
  return width;
}

void require_lower_case(const Tokenizer& tokenizer, const std::string& directory) {
  for (const auto& [upper, lower] : {std::pair{"HELLO WORLD", "hello world"}, std::pair{"A B C", "a b c"}}) {
    if (same_ids(tokenizer, upper, lower)) continue;
    fail(Code::kUnsupported, directory,
         ": do_lower_case true is not supported with this tokenizer, which keeps upper case; expected one that does not");
  }
}

}  // namespace v0
}  // namespace saccade
