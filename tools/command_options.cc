// Options of the subcommands that need no model, and of bench.
#include "tools/command_line.h"
#include "tools/validators.h"

namespace saccade::tool {

void CommandLine::when_chosen(CLI::App* command, std::function<int()> run) {
  command->callback([this, run = std::move(run)] { run_ = run; });
}

void CommandLine::add_json(CLI::App* command, CommonOptions& options) {
  command->add_flag("--json", options.json, "One JSON document on stdout")->group("Output");
}

void CommandLine::add_common(CLI::App* command, CommonOptions& options) {
  command->add_option("--isa", options.isa, "Instruction set: sse2, avx2, avx512 or neon  [best]")
      ->check(CLI::IsMember({"sse2", "avx2", "avx512", "neon"}).description(""))
      ->type_name("NAME")
      ->group("Performance");
  command->add_option("--threads", options.threads, "Threads to compute with  [cores within the quota]")
      ->check(range(1, kMaxThreads))
      ->type_name("N")
      ->group("Performance");
}

void CommandLine::add_size(CLI::App* command, const char* name, int64_t& value, const char* what) {
  command->add_option(name, value, what)
      ->capture_default_str()
      ->check(range(int64_t{1}, kMaxLength))
      ->type_name("N")
      ->group("Input");
}

void CommandLine::add_demo() {
  CLI::App* command = app_.add_subcommand("demo", "A worked example, why scores are scaled, and an encoder: checked and timed");
  command->add_flag("--quick", demo_.quick, "A small encoder (2 layers, 4 sequences), timed once")->group("Input");
  command->add_option("--example", demo_.example, "Another worked example, in the form of tests/data/seed_example.json")
      ->check(existing_file())
      ->type_name("FILE")
      ->group("Input");
  add_common(command, demo_);
  add_json(command, demo_);
  command->footer(
      "\nExamples:\n  saccade demo\n  saccade demo --quick --isa sse2 --json\n\n"
      "Exit code 3: a printed number was not reproduced or a result left its tolerance.");
  when_chosen(command, [this] { return run_demo(demo_); });
}

void CommandLine::add_info() {
  CLI::App* command = app_.add_subcommand("info", "This machine: CPU, ISAs, caches, threads, executor, peak and bandwidth");
  add_common(command, info_);
  add_json(command, info_);
  command->footer("\nExamples:\n  saccade info\n  SACCADE_NUM_THREADS=1 saccade info --json");
  when_chosen(command, [this] { return run_info(info_); });
}

void CommandLine::add_bench() {
  CLI::App* bench = app_.add_subcommand("bench", "Time an encoder, attention, matmul, softmax or the FMA peak");
  bench->require_subcommand(1);
  bench->footer(
      "\nExamples:\n  saccade bench encoder --shape bert-base --lengths 12,128,77\n  saccade bench matmul --rows 32 --in 768 "
      "--out 3072 --threads 1");

  add_bench_encoder(bench);

  CLI::App* attention = bench->add_subcommand("attention", "attention() on strided f32 inputs");
  add_size(attention, "--batch", attention_.batch, "Sequences");
  add_size(attention, "--heads", attention_.heads, "Heads");
  add_size(attention, "--length", attention_.length, "Queries and keys of each sequence");
  add_size(attention, "--head-dim", attention_.head_dim, "Width of a head");
  attention->add_flag("--causal", attention_.causal, "Key j is seen by queries i >= j")->group("Input");
  finish_bench(attention, attention_, [this] { return run_bench_attention(attention_); });

  CLI::App* matmul = bench->add_subcommand("matmul", "One matrix product with a packed weight: [rows, in] x [in, out]");
  add_size(matmul, "--rows", matmul_.rows, "Rows of the activations");
  add_size(matmul, "--in", matmul_.in, "Columns of the activations");
  add_size(matmul, "--out", matmul_.out, "Columns of the weight");
  finish_bench(matmul, matmul_, [this] { return run_bench_matmul(matmul_); });

  CLI::App* softmax = bench->add_subcommand("softmax", "Softmax of each row of a matrix");
  add_size(softmax, "--rows", softmax_.rows, "Rows");
  add_size(softmax, "--width", softmax_.width, "Numbers of a row");
  finish_bench(softmax, softmax_, [this] { return run_bench_softmax(softmax_); });

  CLI::App* peak = bench->add_subcommand("peak", "The FMA peak: independent chains, 20 samples of 10 ms a repeat");
  peak_.repeat = 1;
  finish_bench(peak, peak_, [this] { return run_bench_peak(peak_); });
}

void CommandLine::add_bench_encoder(CLI::App* bench) {
  CLI::App* encoder =
      bench->add_subcommand("encoder", "A whole encoder, from ids to pooled vectors: a shape or a published model");
  CLI::Option* shape_option = encoder->add_option("--shape", encoder_.shape, "minilm, bert-base or LAYERS,WIDTH,HEADS,FFN")
                                  ->capture_default_str()
                                  ->check(CLI::Validator(
                                      [](std::string& text) {
                                        EncoderShape shape;
                                        std::string error;
                                        parse_shape(text, shape, error);
                                        return error;
                                      },
                                      "", "shape"))
                                  ->type_name("SHAPE")
                                  ->group("Input");
  encoder->add_option("--model", encoder_.model, "A published model directory instead of a shape with generated weights")
      ->check(not_empty())
      ->type_name("DIR")
      ->excludes(shape_option)
      ->group("Input");
  CLI::Option* lengths =
      encoder->add_option("--lengths", encoder_.lengths, "Tokens of each sequence: 12,128,77  [32 from 8 to 128]")
          ->delimiter(',')
          ->check(range(int64_t{0}, kMaxLength))
          ->type_name("LIST")
          ->group("Input");
  encoder->add_option("--lengths-file", encoder_.lengths_file, "The same from a file, separated by commas or white space")
      ->check(existing_file())
      ->type_name("FILE")
      ->excludes(lengths)
      ->group("Input");
  finish_bench(encoder, encoder_, [this] { return run_bench_encoder(encoder_); });
  encoder->footer(
      "\nExamples:\n  saccade bench encoder --lengths 12,128,77 --threads 1\n  saccade bench encoder --shape 4,256,8,1024 "
      "--lengths-file lengths.txt --json\n  saccade bench encoder --model all-MiniLM-L6-v2");
}

void CommandLine::finish_bench(CLI::App* command, BenchOptions& options, std::function<int()> run) {
  command->add_option("--repeat", options.repeat, "Measured repeats")
      ->capture_default_str()
      ->check(range(1, 1000000))
      ->type_name("N")
      ->group("Performance");
  add_common(command, options);
  add_json(command, options);
  when_chosen(command, std::move(run));
}

}  // namespace saccade::tool
