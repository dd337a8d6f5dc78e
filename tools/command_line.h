// The command line of `saccade`: options and help texts of all subcommands.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "tools/command.h"

namespace saccade::tool {

// Every subcommand sets its options and, when chosen, `run`.
class CommandLine {
 public:
  CommandLine();

  // Runs what the arguments ask for; returns the exit code.
  int parse_and_run(int argc, char** argv);

 private:
  void add_demo();
  void add_info();
  void add_bench();
  void add_bench_encoder(CLI::App* bench);
  void add_embed();
  void add_rerank();
  void add_similarity();
  void add_tokenize();
  void add_inspect();

  void add_common(CLI::App* command, CommonOptions& options);
  void add_json(CLI::App* command, CommonOptions& options);
  void add_size(CLI::App* command, const char* name, int64_t& value, const char* what);
  void add_model(CLI::App* command, ModelOptions& options);
  void add_texts(CLI::App* command, TextOptions& options);
  void add_encoding(CLI::App* command, EncodeTextOptions& options);
  void add_vectors(CLI::App* command, EncodeTextOptions& options);
  void finish_bench(CLI::App* command, BenchOptions& options, std::function<int()> run);
  void when_chosen(CLI::App* command, std::function<int()> run);

  CLI::App app_;
  std::function<int()> run_;
  DemoOptions demo_;
  InfoOptions info_;
  EmbedOptions embed_;
  RerankOptions rerank_;
  EncodeTextOptions similarity_;
  TextOptions tokenize_;
  ModelOptions inspect_;
  BenchEncoderOptions encoder_;
  BenchAttentionOptions attention_;
  BenchMatmulOptions matmul_;
  BenchSoftmaxOptions softmax_;
  BenchOptions peak_;
};

}  // namespace saccade::tool
