// What the families read from config.json. A key that is missing has the default of its class in transformers; a value that would
// change the result in a way that is not implemented is refused by its name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/json.h"
#include "saccade/graph.h"

namespace saccade {
inline namespace v0 {

struct Config {
  int64_t vocabulary = 30522, width = 768, layers = 12, heads = 12, ffn = 3072;
  int64_t positions = 512;  // rows of the position table, or the longest text with RoPE
  int64_t types = 2;        // rows of the token type table; 0: none
  int64_t padding_id = 0;
  float eps = 1e-12f;
  Activation activation = Activation::kGelu;

  int64_t head_dim() const { return width / heads; }
};

// `defaults` with what config.json says, under any of its spellings (hidden_size, dim, n_embd, ...).
Config read_config(const Json& root, const Config& defaults);

// The first of the keys that is there; absent when none is.
Json find_any(const Json& root, std::initializer_list<std::string_view> keys);

// "gelu" (by erf), "gelu_new" and its other names (by tanh), "relu", "silu", "swish", "tanh"; unsupported by name otherwise.
Activation read_activation(const Json& name);

// unsupported, naming the key, the value and what is known, when the key is there with another value.
void expect_value(const Json& root, std::string_view key, std::initializer_list<std::string_view> known);
void expect_flag(const Json& root, std::string_view key, bool known);
void expect_number(const Json& root, std::string_view key, double known);

// A number that must be positive, for bases, factors and eps.
double positive_or(const Json& root, std::string_view key, double otherwise);

// RoPE from `parameters` {rope_type or type, rope_theta, factor}, which may be absent, and a base for when
// they have none. Types: default; linear (positions divided by factor); ntk (GTE v1.5: base times factor, then every frequency
// divided by factor^(2 / head_dim)).
RopeOptions read_rope(const Json& parameters, double theta, const Config& config);

// Names of the labels of a classifier in order: id2label, else num_labels (default 2) times "LABEL_i".
std::vector<std::string> read_labels(const Json& root);

}  // namespace v0
}  // namespace saccade
