// The subcommands and their options. command_options.cc and model_options.cc fill the options from the command line; each run_*
// lives in the file of that name, those of bench in bench.cc and bench_kernels.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/encoder.h"

namespace saccade::tool {

inline constexpr int64_t kMaxLength = 1 << 20;  // tokens of one sequence; far above what any position table holds
inline constexpr int kMaxThreads = 1024;        // the most that the library takes

struct CommonOptions {
  bool json = false;
  std::string isa;  // empty: SACCADE_FORCE_ISA, else the best one
  int threads = 0;  // 0: as saccade/machine.h says
};

struct DemoOptions : CommonOptions {
  bool quick = false;
  std::string example;  // file; empty: the built-in one
};
int run_demo(const DemoOptions& options);

struct InfoOptions : CommonOptions {};
int run_info(const InfoOptions& options);

// ---- a published model directory
struct ModelOptions : CommonOptions {
  std::string model;  // the directory
};
int run_inspect(const ModelOptions& options);

struct TextOptions : ModelOptions {
  std::string file = "-";  // one text a line; "-": standard input
  std::string field;       // not empty: the lines are JSON objects, and this member is the text
};
int run_tokenize(const TextOptions& options);

struct EncodeTextOptions : TextOptions {
  bool truncate = false;
  int64_t max_batch_tokens = 0;  // 0: EncodeOptions' default
  std::string pooling;           // "mean", "cls", "last" or "max"; empty: as published
  int normalize = -1;            // 0, 1, or as published
  std::string prompt;            // a name, or "text:" and the text; empty: the default prompt
};
int run_similarity(const EncodeTextOptions& options);

struct EmbedOptions : EncodeTextOptions {
  std::string format;  // "npy", "jsonl" or "csv"; empty: by the end of `output`, else jsonl
  std::string output;  // empty: standard output
};
int run_embed(const EmbedOptions& options);

struct RerankOptions : EncodeTextOptions {
  std::string query;
};
int run_rerank(const RerankOptions& options);

// ---- benchmarks
struct BenchOptions : CommonOptions {
  int repeat = 10;
};

struct BenchEncoderOptions : BenchOptions {
  std::string shape = "minilm";
  std::vector<int64_t> lengths;  // empty: those of `saccade demo`
  std::string lengths_file;
  std::string model;  // a published directory instead of a shape
};
int run_bench_encoder(const BenchEncoderOptions& options);

struct BenchAttentionOptions : BenchOptions {
  int64_t batch = 8, heads = 12, length = 512, head_dim = 64;
  bool causal = false;
};
int run_bench_attention(const BenchAttentionOptions& options);

struct BenchMatmulOptions : BenchOptions {
  int64_t rows = 1536, in = 384, out = 1536;
};
int run_bench_matmul(const BenchMatmulOptions& options);

struct BenchSoftmaxOptions : BenchOptions {
  int64_t rows = 16, width = 512;
};
int run_bench_softmax(const BenchSoftmaxOptions& options);

int run_bench_peak(const BenchOptions& options);

}  // namespace saccade::tool
