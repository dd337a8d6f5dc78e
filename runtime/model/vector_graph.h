// The part of an Encoder's graph behind the hidden states: pooling, dense modules, length 1; scores.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/model/modules.h"
#include "saccade/encoder.h"

namespace saccade {
inline namespace v0 {

// Name of the graph's output for vectors pooled so: "mean", "mean, length 1".
std::string vector_output(Pooling pooling, bool normalize);

// Adds an output for each pooling, as it is and with length 1, all through the dense modules; and "scores", the logits of a
// sequence classification head through a sigmoid. Returns the width of the vectors.
int64_t add_vector_outputs(ModelGraph& model, const Modules& modules);

// do_lower_case puts a lower-casing step in front of a tokenizer that has none. Only tokenizers that have one are supported;
// `directory` is for the message.
void require_lower_case(const Tokenizer& tokenizer, const std::string& directory);

}  // namespace v0
}  // namespace saccade
