// Encoder: the files of a directory as graph, tokenizer and modules; plans and scratch for the options that are asked for.
#include "saccade/encoder.h"

#include <algorithm>
#include <map>

#include "runtime/graph/check.h"
#include "runtime/model/batching.h"
#include "runtime/model/files.h"
#include "runtime/model/modules.h"
#include "runtime/model/vector_graph.h"

namespace saccade {
inline namespace v0 {

struct Encoder::Data {
  Data(ModelGraph model, Tokenizer tokenizer) : model(std::move(model)), tokenizer(std::move(tokenizer)) {}

  EncoderInfo info;
  ModelGraph model;
  Tokenizer tokenizer;
  PlanOptions plan_options;
  ContextOptions context_options;
  bool pools_prompt = true;

  std::mutex mutex;                                           // of plans
  std::map<std::string, std::unique_ptr<ScratchPool>> plans;  // by output
};

namespace {

using Data = Encoder::Data;

// The plan that computes one output, compiled when first asked for. Plans share panels and are never dropped.
ScratchPool& pool_of(Data& data, const std::string& output) {
  const std::lock_guard lock(data.mutex);
  auto& pool = data.plans[output];
  if (pool == nullptr) {
    PlanOptions options = data.plan_options;
    options.outputs = {output};
    pool = std::make_unique<ScratchPool>(take(Plan::compile(data.model.graph, options)), data.context_options);
  }
  return *pool;
}

bool token_level(Head head) { return head == Head::kTokenClassification || head == Head::kMaskedLm; }

std::string pooled_output(const EncoderInfo& info, const EncodeOptions& options) {
  if (info.pooling_source.empty() && !options.pooling) {
    fail(Code::kUnsupported, info.directory, ": modules.json has no Pooling, so there is no vector of a text; name a pooling");
  }
  return vector_output(options.pooling.value_or(info.pooling), options.normalize.value_or(info.normalize));
}

std::string scores_output(const EncoderInfo& info, const EncodeOptions& options) {
  return options.sigmoid.value_or(info.sigmoid) ? "scores" : "logits";
}

std::string published_output(const EncoderInfo& info, const EncodeOptions& options) {
  if (info.head == Head::kSequenceClassification) return scores_output(info, options);
  return info.head == Head::kTokenClassification ? "logits" : pooled_output(info, options);
}

// The text that goes before each text; empty: none.
std::string_view prompt_text(const EncoderInfo& info, const EncodeOptions& options) {
  if (options.prompt) return *options.prompt;
  if (!options.prompt_name && info.default_prompt.empty()) return {};
  const std::string& asked = options.prompt_name ? *options.prompt_name : info.default_prompt;
  std::string known;
  for (const auto& [name, text] : info.prompts) {
    if (name == asked) return text;
    known += (known.empty() ? "" : ", ") + name;
  }
  fail(Code::kNotFound, "encode: no prompt is called \"", asked, "\"; there ", known.empty() ? "are none" : "are: ", known);
}

std::string_view prompt_of(const Data& data, const EncodeOptions& options) {
  const std::string_view prompt = prompt_text(data.info, options);
  if (!data.pools_prompt && !prompt.empty()) {
    fail(Code::kUnsupported, data.info.pooling_source, ": include_prompt false together with a prompt is not supported");
  }
  return prompt;
}

TokenizeOptions tokenize_options(const Data& data, const EncodeOptions& options, bool pair) {
  require(options.max_tokens >= 0, "encode: max_tokens must not be negative, got ", options.max_tokens);
  require(options.max_batch_tokens >= 1, "encode: max_batch_tokens must be at least 1, got ", options.max_batch_tokens);
  TokenizeOptions result{.truncate = options.truncate};
  result.max_length = options.max_tokens == 0 ? data.info.max_tokens : std::min(options.max_tokens, data.info.max_tokens);
  const int64_t special = data.tokenizer.special_token_count(pair);
  require(result.max_length > special, "encode: max_tokens ", result.max_length, " leaves no room beside the ", special,
          " special tokens");
  return result;
}

void check_tokenized(const Status& status, int64_t index, const EncodeOptions& options) {
  if (status.ok()) return;
  const bool longer = status.code() == Code::kOutOfRange && !options.truncate;
  fail(status.code(), "encode: text ", index, ": ", status.message(), longer ? " (truncate cuts)" : "");
}

// Computes one output for texts or pairs; `rows` says where a run's rows go.
template <class Tokenize, class Rows>
void run_all(Data& data, const std::string& output, int64_t count, const EncodeOptions& options, Tokenize&& tokenize,
             Rows&& rows) {
  require(count > 0, "encode: there are no texts");
  const auto scratch = pool_of(data, output).borrow();
  const auto run = [&](const PackedTexts& texts) {
    scratch->batch.assign_offsets(texts.offsets);
    const Input inputs[] = {{"ids", packed(ConstMatrix(texts.ids.data(), texts.tokens()))},
                            {"type_ids", packed(ConstMatrix(texts.type_ids.data(), texts.tokens()))}};
    const Output outputs[] = {{output, packed(rows(texts))}};
    const Status status =
        scratch->context.run(scratch->batch, std::span(inputs, data.model.type_ids ? 2 : 1), outputs, {.stop = options.stop});
    if (!status.ok()) throw Failure{status};
  };
  for_each_run(
      count, options, *scratch, [&](int64_t i, Tokens& tokens) { tokenize(i, *scratch, tokens); }, run);
}

// Tokenises single texts with their prompt.
auto text_tokenizer(const Data& data, std::span<const std::string_view> texts, const EncodeOptions& options) {
  return [&data, texts, &options, prompt = prompt_of(data, options), how = tokenize_options(data, options, false)](
             int64_t i, EncoderScratch& scratch, Tokens& tokens) {
    std::string_view text = texts[static_cast<size_t>(i)];
    if (!prompt.empty()) text = scratch.prompted.assign(prompt).append(text);
    check_tokenized(data.tokenizer.encode(text, how, tokens), i, options);
  };
}

// Rows of a run within the caller's matrix [count, width].
auto matrix_rows(const Matrix& matrix, int64_t count, int64_t width) {
  const int64_t stride = matrix.stride == 0 ? matrix.width : matrix.stride;
  if (matrix.rows != count || matrix.width != width || stride < width) {
    fail(Code::kInvalidArgument, "encode: the result is [", count, ", ", width, "], the matrix for it is [", matrix.rows, ", ",
         matrix.width, "] with stride ", stride);
  }
  require(matrix.data != nullptr || count == 0, "encode: the matrix for the result has no data");
  return [=](const PackedTexts& texts) { return Matrix(matrix.data + texts.first * stride, texts.count(), width, stride); };
}

void fill_info(Data& data, const std::string& directory, const Modules& modules) {
  const ModelGraph& model = data.model;
  EncoderInfo& info = data.info;
  info.directory = directory, info.family = model.family, info.architecture = model.architecture, info.dtype = model.dtype;
  info.tokenizer = data.tokenizer.model();
  info.layers = model.layers, info.width = model.width, info.heads = model.heads, info.ffn = model.ffn;
  info.vocabulary = model.vocabulary, info.parameters = model.parameters;
  info.head = model.head, info.labels = model.labels, info.unused_tensors = model.unused_tensors;
  info.type_ids = model.type_ids;
  info.pooling = modules.pooling.value_or(Pooling::kMean);
  info.pooling_source = modules.pooling_source;
  info.normalize = modules.normalize;
  info.modules = modules.names;

  const TextLimits limits = read_limits(modules.transformer);
  info.max_tokens = limits.max_tokens == 0 ? model.max_tokens : std::min(limits.max_tokens, model.max_tokens);
  if (limits.lower_case) require_lower_case(data.tokenizer, modules.transformer);

  Prompts prompts = read_prompts(directory);
  info.prompts = std::move(prompts.texts);
  info.default_prompt = std::move(prompts.default_name);
  info.similarity = std::move(prompts.similarity);
  data.pools_prompt = modules.pools_prompt;
  if (!data.pools_prompt && !info.prompts.empty()) (void)prompt_of(data, {.prompt = info.prompts[0].second});
  if (model.head == Head::kSequenceClassification) {
    info.sigmoid =
        prompts.sigmoid ? *prompts.sigmoid : read_sigmoid(modules.transformer, static_cast<int64_t>(model.labels.size()));
  }
}

std::shared_ptr<Data> load(const std::string& directory, const LoadOptions& options) {
  require_directory(directory);
  const Modules modules = read_modules(directory);
  auto data = std::make_shared<Data>(take(load_graph(modules.transformer)), take(Tokenizer::load(modules.transformer)));
  fill_info(*data, directory, modules);
  data->info.output_width = add_vector_outputs(data->model, modules);
  data->plan_options = {.isa = options.isa, .linear_backend = options.linear_backend, .release_weights = true};
  data->context_options = {.threads = options.threads, .executor = options.executor};
  if (data->context_options.executor == nullptr) {
    data->context_options.executor = take(pool_executor({.threads = options.threads}));
  }
  // Errors of the published plan are errors of the directory. One without pooling has no vectors.
  const bool encodes = data->info.head == Head::kSequenceClassification || data->info.head == Head::kTokenClassification ||
                       !data->info.pooling_source.empty();
  data->info.output = encodes ? published_output(data->info, {}) : "hidden";
  data->info.weight_bytes = pool_of(*data, data->info.output).plan().weight_bytes();
  return data;
}

Status moved_from() { return {Code::kInvalidArgument, "encoder: moved from"}; }

}  // namespace

Result<Encoder> Encoder::load(const std::string& directory, const LoadOptions& options) {
  std::shared_ptr<Data> data;
  Status status = caught([&] { data = saccade::load(directory, options); });
  if (!status.ok()) return status;
  return Encoder(std::move(data));
}

Status Encoder::encode(std::span<const std::string_view> texts, const Matrix& vectors, const EncodeOptions& options) const {
  if (data_ == nullptr) return moved_from();
  return caught([&] {
    const auto count = static_cast<int64_t>(texts.size());
    run_all(*data_, pooled_output(data_->info, options), count, options, text_tokenizer(*data_, texts, options),
            matrix_rows(vectors, count, data_->info.output_width));
  });
}

Result<std::vector<float>> Encoder::encode(std::span<const std::string_view> texts, const EncodeOptions& options) const {
  if (data_ == nullptr) return moved_from();
  std::vector<float> vectors;
  const auto count = static_cast<int64_t>(texts.size());
  Status status = caught([&] { vectors.resize(texts.size() * static_cast<size_t>(data_->info.output_width)); });
  if (status.ok()) status = encode(texts, Matrix(vectors.data(), count, data_->info.output_width), options);
  if (!status.ok()) return status;
  return vectors;
}

Status Encoder::encode_pairs(std::span<const TextPair> pairs, const Matrix& scores, const EncodeOptions& options) const {
  if (data_ == nullptr) return moved_from();
  return caught([&] {
    const Data& data = *data_;
    if (data.info.head != Head::kSequenceClassification) {
      fail(Code::kUnsupported, "encode_pairs: ", data.info.architecture, " has no sequence classification head");
    }
    const std::string_view prompt = prompt_of(data, options);
    const TokenizeOptions how = tokenize_options(data, options, true);
    const auto tokenize = [&](int64_t i, EncoderScratch& scratch, Tokens& tokens) {
      auto [first, second] = pairs[static_cast<size_t>(i)];
      if (!prompt.empty()) first = scratch.prompted.assign(prompt).append(first);
      check_tokenized(data.tokenizer.encode_pair(first, second, how, tokens), i, options);
    };
    const auto count = static_cast<int64_t>(pairs.size());
    run_all(*data_, scores_output(data.info, options), count, options, tokenize,
            matrix_rows(scores, count, static_cast<int64_t>(data.info.labels.size())));
  });
}

Result<TokenVectors> Encoder::encode_tokens(std::span<const std::string_view> texts, const EncodeOptions& options) const {
  if (data_ == nullptr) return moved_from();
  TokenVectors vectors;
  Status status = caught([&] {
    const EncoderInfo& info = data_->info;
    const bool scores = token_level(info.head);
    vectors.width = !scores                        ? info.width
                    : info.head == Head::kMaskedLm ? info.vocabulary
                                                   : static_cast<int64_t>(info.labels.size());
    vectors.offsets = {0};
    const auto rows = [&](const PackedTexts& run) {
      const auto before = static_cast<int64_t>(vectors.ids.size());
      vectors.ids.insert(vectors.ids.end(), run.ids.begin(), run.ids.end());
      for (size_t i = 1; i < run.offsets.size(); ++i) vectors.offsets.push_back(before + run.offsets[i]);
      vectors.values.resize(vectors.ids.size() * static_cast<size_t>(vectors.width));
      return Matrix(vectors.values.data() + before * vectors.width, run.tokens(), vectors.width);
    };
    run_all(*data_, scores ? "logits" : "hidden", static_cast<int64_t>(texts.size()), options,
            text_tokenizer(*data_, texts, options), rows);
  });
  if (!status.ok()) return status;
  return vectors;
}

// One that was moved from has nothing to tell, and its tokenizer refuses texts.
const EncoderInfo& Encoder::info() const {
  static const EncoderInfo none;
  return data_ == nullptr ? none : data_->info;
}
const Tokenizer& Encoder::tokenizer() const {
  static const Tokenizer none;
  return data_ == nullptr ? none : data_->tokenizer;
}

Result<Plan> Encoder::plan(const EncodeOptions& options) const {
  if (data_ == nullptr) return moved_from();
  std::optional<Plan> plan;
  Status status = caught([&] { plan = pool_of(*data_, published_output(data_->info, options)).plan(); });
  if (!status.ok()) return status;
  return *std::move(plan);
}

}  // namespace v0
}  // namespace saccade
