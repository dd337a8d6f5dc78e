// Options of the subcommands for a published model.
#include "saccade/encoder.h"
#include "tools/command_line.h"
#include "tools/validators.h"

namespace saccade::tool {

void CommandLine::add_model(CLI::App* command, ModelOptions& options) {
  command->add_option("DIR", options.model, "Model directory as published: config.json, *.safetensors, tokenizer files")
      ->required()
      ->type_name("");
}

void CommandLine::add_texts(CLI::App* command, TextOptions& options) {
  command->add_option("FILE", options.file, "Texts, one a line, empty lines too; - is standard input  [-]")
      ->check(CLI::Validator([](std::string& file) { return file == "-" ? "" : CLI::ExistingFile(file); }, "", "file"))
      ->type_name("");
  command->add_option("--field", options.field, "Lines are JSON objects (JSONL); the text is their member NAME")
      ->check(not_empty())
      ->type_name("NAME")
      ->group("Input");
}

void CommandLine::add_encoding(CLI::App* command, EncodeTextOptions& options) {
  command->add_option("--prompt", options.prompt, "Prompt of the model by NAME, or text:TEXT  [its default]")
      ->check(not_empty())
      ->type_name("NAME")
      ->group("Model");
  command->add_flag("--truncate", options.truncate, "Cut texts that are longer than the model takes  [an error]")->group("Model");
  command->add_option("--max-batch-tokens", options.max_batch_tokens, "Most tokens of one run")
      ->check(range(int64_t{1}, int64_t{1} << 24))
      ->type_name("TOKENS")
      ->default_str(std::to_string(EncodeOptions().max_batch_tokens))
      ->group("Performance");
  add_common(command, options);
}

void CommandLine::add_vectors(CLI::App* command, EncodeTextOptions& options) {
  command->add_option("--pooling", options.pooling, "mean, cls, last or max  [as published]")
      ->check(CLI::IsMember({"mean", "cls", "last", "max"}).description(""))
      ->type_name("KIND")
      ->group("Model");
  command
      ->add_flag_function(
          "--normalize,!--no-normalize", [&options](int64_t sign) { options.normalize = sign > 0; },
          "Vectors of length 1, or as they are  [as published]")
      ->group("Model");
}

void CommandLine::add_embed() {
  CLI::App* command = app_.add_subcommand("embed", "Vectors of the lines of a file, by a published model");
  add_model(command, embed_);
  add_texts(command, embed_);
  add_vectors(command, embed_);
  add_encoding(command, embed_);
  command->add_option("--format", embed_.format, "npy, jsonl or csv  [by the end of --output, else jsonl]")
      ->check(CLI::IsMember({"npy", "jsonl", "csv"}).description(""))
      ->type_name("FORMAT")
      ->group("Output");
  command->add_option("--output", embed_.output, "Written as FILE.part, renamed when whole  [standard output]")
      ->check(not_empty())
      ->type_name("FILE")
      ->group("Output");
  command->footer(
      "\nExamples:\n  saccade embed all-MiniLM-L6-v2 texts.txt --output vectors.npy\n"
      "  saccade embed e5-small corpus.jsonl --field text --prompt passage --truncate > vectors.jsonl\n\n"
      "An interrupt (exit code 130; SIGTERM: 143) or an error leaves FILE.part with whole records.");
  when_chosen(command, [this] { return run_embed(embed_); });
}

void CommandLine::add_rerank() {
  CLI::App* command = app_.add_subcommand("rerank", "Texts in the order of their scores for a query, by a cross-encoder");
  add_model(command, rerank_);
  add_texts(command, rerank_);
  command->add_option("--query", rerank_.query, "What the texts are scored for")->required()->type_name("TEXT")->group("Input");
  add_encoding(command, rerank_);
  add_json(command, rerank_);
  command->footer(
      "\nExamples:\n  saccade rerank ms-marco-MiniLM-L6-v2 --query \"how tall is it?\" answers.txt\n\n"
      "A line is score, number of the text from 0, text. Scores go through a sigmoid where the model says so.");
  when_chosen(command, [this] { return run_rerank(rerank_); });
}

void CommandLine::add_similarity() {
  CLI::App* command = app_.add_subcommand("similarity", "The cosine of every two lines of a file, as a shaded table");
  add_model(command, similarity_);
  add_texts(command, similarity_);
  add_vectors(command, similarity_);
  add_encoding(command, similarity_);
  add_json(command, similarity_);
  command->footer("\nExamples:\n  printf 'a cat\\na kitten\\na train\\n' | saccade similarity all-MiniLM-L6-v2");
  when_chosen(command, [this] { return run_similarity(similarity_); });
}

void CommandLine::add_tokenize() {
  CLI::App* command = app_.add_subcommand("tokenize", "The tokens of each line of a file, as ID:TOKEN");
  add_model(command, tokenize_);
  add_texts(command, tokenize_);
  add_json(command, tokenize_);
  command->footer("\nExamples:\n  echo 'Hello world!' | saccade tokenize all-MiniLM-L6-v2");
  when_chosen(command, [this] { return run_tokenize(tokenize_); });
}

void CommandLine::add_inspect() {
  CLI::App* command = app_.add_subcommand("inspect", "What a published model is: sizes, limits, pooling, memory, plan");
  add_model(command, inspect_);
  add_common(command, inspect_);
  add_json(command, inspect_);
  command->footer("\nExamples:\n  saccade inspect all-MiniLM-L6-v2\n  saccade inspect all-MiniLM-L6-v2 --json");
  when_chosen(command, [this] { return run_inspect(inspect_); });
}

}  // namespace saccade::tool
