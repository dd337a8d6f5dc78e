// The subcommands for a published model, on a directory in miniature: formats, files, interruption, errors, exit codes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/support/model_directory.h"
#include "tests/tools/run_command.h"

namespace saccade::test {
namespace {

using nlohmann::json;

constexpr size_t kWidth = ModelDirectory::kWidth, kNpyHeader = 128;

std::string content(const std::string& file) {
  std::stringstream stream;
  stream << std::ifstream(file, std::ios::binary).rdbuf();
  return stream.str();
}

// The numbers of an npy file whose header is right: 64-byte units, float32, C order, [rows, width].
std::vector<float> npy(const std::string& bytes, size_t rows, size_t width = kWidth) {
  const std::string shape = "'shape': (" + std::to_string(rows) + ", " + std::to_string(width) + ")";
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(bytes.size(), kNpyHeader + rows * width * sizeof(float));
  if (bytes.size() < kNpyHeader) return {};
  EXPECT_EQ(static_cast<size_t>(bytes[8]) + 10, kNpyHeader);
  const std::string header = bytes.substr(10, kNpyHeader - 10);
  for (const std::string& part : {shape, std::string("'descr': '<f4'"), std::string("'fortran_order': False")})
    EXPECT_TRUE(contains(header, part)) << header;
  EXPECT_EQ(header.back(), '\n');
  std::vector<float> values((bytes.size() - kNpyHeader) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + kNpyHeader, values.size() * sizeof(float));
  return values;
}

// Numbers of every line, JSON or CSV.
std::vector<float> lines_of_numbers(const std::string& text, bool jsonl) {
  std::vector<float> values;
  std::istringstream stream(text);
  int64_t index = 0;
  for (std::string line; std::getline(stream, line); ++index) {
    const json row = json::parse(jsonl ? line : "[" + line + "]", nullptr, false);
    const json& numbers = jsonl ? row["vector"] : row;
    EXPECT_EQ(numbers.size(), kWidth) << line;
    if (jsonl) {
      EXPECT_EQ(row["index"], index);
    }
    for (const json& number : numbers) values.push_back(number.get<float>());
  }
  return values;
}

TEST(Model, EmbedWritesTheSameNumbersInEveryFormat) {
  const ModelDirectory model;
  const TemporaryFile texts("the cat\n\nthe dog by the river\r\nx");
  const std::string embed = "embed " + model.path() + " " + texts.path() + " ";
  const Outcome binary = run_command(embed + "--format npy");
  EXPECT_EQ(binary.exit, 0) << binary.err;
  EXPECT_EQ(binary.err, "");
  const std::vector<float> want = npy(binary.out, 4);
  EXPECT_EQ(lines_of_numbers(run_command(embed).out, true), want);
  EXPECT_EQ(lines_of_numbers(run_command(embed + "--format csv").out, false), want);
  for (const char* format : {"npy", "jsonl", "csv"}) {
    const std::string file = model.path() + "/vectors." + format;
    const Outcome outcome = run_command(embed + "--output " + file);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.out + outcome.err, "");
    EXPECT_FALSE(std::filesystem::exists(file + ".part"));
    EXPECT_EQ(content(file), run_command(embed + "--format " + format).out) << format;
  }
  EXPECT_EQ(run_command("embed " + model.path() + " --format npy < " + texts.path()).out, binary.out);
  EXPECT_EQ(run_command(embed + "--format npy --max-batch-tokens 3 --threads 2").out, binary.out);
}

TEST(Model, EmbedReadsJsonLines) {
  const ModelDirectory model;
  const TemporaryFile lines("{\"id\": 1, \"text\": \"the cat\"}\n{\"text\": \"a \\u0062\"}\n"), texts("the cat\na b\n");
  EXPECT_EQ(run_command("embed " + model.path() + " --field text " + lines.path()).out,
            run_command("embed " + model.path() + " " + texts.path()).out);
  const std::pair<const char*, const char*> bad[] = {{"{\"text\": \"x\"}\n{\"other\": \"x\"}\n", "line 2: has no field \"text\""},
                                                     {"{\"text\": 1}\n", "line 1: the field \"text\" is no string"},
                                                     {"{\"text\": \"x\"}\nplain\n", "line 2: is no JSON object"},
                                                     {"[]\n", "line 1: is no JSON object"}};
  for (const auto& [text, message] : bad) {
    const TemporaryFile file(text);
    const Outcome outcome = run_command("embed " + model.path() + " --field text " + file.path());
    EXPECT_EQ(outcome.exit, 1) << text;
    EXPECT_TRUE(contains(outcome.err, message)) << outcome.err;
  }
}

TEST(Model, OptionsReachTheEncoder) {
  const ModelDirectory model;
  model.write("config_sentence_transformers.json", json{{"prompts", {{"query", "query: "}}}});
  const TemporaryFile plain("the cat\n"), prompted("query: the cat\n");
  const std::string embed = "embed " + model.path() + " --format npy ";
  const auto vector_of = [&](const TemporaryFile& file, const std::string& options) {
    const Outcome outcome = run_command(embed + options + " " + file.path());
    EXPECT_EQ(outcome.exit, 0) << options << ": " << outcome.err;
    return npy(outcome.out, 1);
  };
  const std::vector<float> mean = vector_of(plain, "");
  for (const char* options :
       {"--pooling cls", "--pooling last", "--pooling max", "--normalize", "--prompt query", "--prompt 'text:a '"}) {
    EXPECT_NE(vector_of(plain, options), mean) << options;
  }
  EXPECT_EQ(vector_of(plain, "--pooling mean --no-normalize"), mean);
  EXPECT_EQ(vector_of(plain, "--prompt query"), vector_of(prompted, ""));
  EXPECT_EQ(vector_of(plain, "--prompt 'text:query: '"), vector_of(prompted, ""));
  double squares = 0;
  for (const float x : vector_of(plain, "--normalize")) squares += static_cast<double>(x) * static_cast<double>(x);
  EXPECT_NEAR(squares, 1, 1e-6);
  const Outcome unknown = run_command(embed + "--prompt qurey " + plain.path());
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_TRUE(contains(unknown.err, "query")) << unknown.err;
}

TEST(Model, AnErrorLeavesWholeRecordsInThePart) {
  const ModelDirectory model;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "the cat\n";
  std::string longer = text;
  for (int i = 0; i < 60; ++i) longer += "a ";
  const TemporaryFile file(longer + "\nx\n"), good(text);
  const std::string out = model.path() + "/out.npy";
  const Outcome outcome = run_command("embed " + model.path() + " " + file.path() + " --max-batch-tokens 40 --output " + out);
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_TRUE(contains(outcome.err, ": line 101: ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "62")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "out.npy.part holds ")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(out));
  const std::string part = content(out + ".part");
  const size_t rows = (part.size() - kNpyHeader) / (kWidth * sizeof(float));
  EXPECT_GE(rows, 90u);
  const std::vector<float> got = npy(part, rows),
                           all = npy(run_command("embed " + model.path() + " --format npy " + good.path()).out, 100);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), all.begin()));

  EXPECT_EQ(run_command("embed " + model.path() + " " + file.path() + " --truncate --output " + out).exit, 0);
  (void)npy(content(out), 102);
  const TemporaryFile first_is_bad(std::string(200, 'a') + " " + longer.substr(text.size()));
  std::filesystem::remove(out + ".part");
  EXPECT_EQ(run_command("embed " + model.path() + " " + first_is_bad.path() + " --output " + out).exit, 1);
  EXPECT_FALSE(std::filesystem::exists(out + ".part"));  // nothing to keep
  EXPECT_EQ(run_command("embed " + model.path() + " " + good.path() + " --output " + model.path()).exit, 1);
  EXPECT_EQ(run_command("embed " + model.path() + " " + good.path() + " --output /nonexistent/x.npy").exit, 1);
}

TEST(Model, TheOutputIsWrittenWhereItIs) {
  const ModelDirectory model;
  const TemporaryFile texts("the cat\nthe dog\n");
  const std::string embed = "embed " + model.path() + " " + texts.path(), link = model.path() + "/link.npy";
  // What is no regular file stays what it is.
  for (const char* format : {"npy", "jsonl"}) {
    const std::string fifo = model.path() + "/fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    std::string bytes;
    std::thread reader([&] { bytes = content(fifo); });
    const Outcome outcome = run_command(embed + " --format " + format + " --output " + fifo);
    reader.join();
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_TRUE(std::filesystem::is_fifo(fifo));
    EXPECT_EQ(bytes, run_command(embed + " --format " + format).out);
    std::filesystem::remove(fifo);
  }
  // A link stays a link; the file behind it is new.
  std::ofstream(model.path() + "/target.npy") << "old";
  std::filesystem::create_symlink("target.npy", link);
  EXPECT_EQ(run_command(embed + " --output " + link).exit, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  (void)npy(content(model.path() + "/target.npy"), 2);
  // Nor does it take the place of the texts, by whatever name they are read.
  const std::string part = model.path() + "/texts.jsonl.part", from_input = "embed " + model.path() + " - < " + texts.path();
  std::filesystem::create_hard_link(texts.path(), part);
  EXPECT_EQ(run_command(embed + " --output " + texts.path()).exit, 2);
  EXPECT_EQ(run_command(from_input + " --output " + texts.path()).exit, 2);
  EXPECT_EQ(run_command(embed + " --output " + model.path() + "/texts.jsonl").exit, 2);
  EXPECT_EQ(content(part), "the cat\nthe dog\n");
  EXPECT_EQ(content(texts.path()), "the cat\nthe dog\n");
  // What a link in the place of FILE.part leads to stays as it is.
  std::filesystem::create_symlink("config.json", model.path() + "/new.npy.part");
  const std::string config = content(model.path() + "/config.json");
  EXPECT_EQ(run_command(embed + " --output " + model.path() + "/new.npy").exit, 1);
  EXPECT_EQ(content(model.path() + "/config.json"), config);
}

TEST(Model, ALongTextIsNamedByItsLine) {
  const ModelDirectory model, reranker(1);
  std::string words;
  for (int i = 0; i < 60; ++i) words += "a ";
  const TemporaryFile texts("the cat\n" + words + "\n");
  for (const std::string& command :
       {"embed " + model.path(), "similarity " + model.path(), "rerank --query cat " + reranker.path()}) {
    const Outcome outcome = run_command(command + " " + texts.path());
    EXPECT_EQ(outcome.exit, 1);
    EXPECT_TRUE(contains(outcome.err, texts.path() + ": line 2: ")) << outcome.err;
    EXPECT_FALSE(contains(outcome.err, "text 0")) << outcome.err;
  }
  const Outcome query = run_command("rerank --query '" + words + "' " + reranker.path() + " " + texts.path());
  EXPECT_EQ(query.exit, 1);
  EXPECT_TRUE(contains(query.err, "--query: ")) << query.err;
}

TEST(Model, AnEmptyOptionIsNotTheDefault) {
  const ModelDirectory model;
  const TemporaryFile texts("the cat\n");
  for (const char* option : {"--field ''", "--prompt ''", "--output ''"}) {
    const Outcome outcome = run_command("embed " + model.path() + " " + texts.path() + " " + option);
    EXPECT_EQ(outcome.exit, 2) << option;
    EXPECT_TRUE(contains(outcome.err, "must not be empty")) << outcome.err;
  }
  EXPECT_EQ(run_command("bench encoder --model ''").exit, 2);
}

TEST(Model, TwoProcessesDoNotWriteOneFile) {
  const ModelDirectory model;
  const TemporaryFile texts("the cat\n");
  const std::string out = model.path() + "/out.npy", part = out + ".part";
  const std::string command = "embed " + model.path() + " " + texts.path() + " --output " + out;
  const int other = open(part.c_str(), O_RDWR | O_CREAT, 0600);  // as the other process has it
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  ASSERT_EQ(write(other, "theirs", 6), 6);
  const Outcome outcome = run_command(command);
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_TRUE(contains(outcome.err, "another process")) << outcome.err;
  EXPECT_EQ(content(part), "theirs");
  close(other);  // one that died leaves its part, which is begun anew
  EXPECT_EQ(run_command(command).exit, 0);
  (void)npy(content(out), 1);
  EXPECT_FALSE(std::filesystem::exists(part));
}

TEST(Model, AnInterruptLeavesWholeRecordsInThePart) {
  const ModelDirectory model;
  for (const std::string format : {"npy", "jsonl"}) {
    const int signal = format == "npy" ? SIGINT : SIGTERM;
    const std::string word = signal == SIGINT ? "interrupted" : "terminated";
    const std::string fifo = model.path() + "/fifo", out = model.path() + "/out." + format, part = out + ".part";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    int writer = -1;
    std::thread feeder([&] {  // texts for a while, then nothing, without an end
      writer = open(fifo.c_str(), O_WRONLY);
      for (int i = 0; i < 500; ++i) ASSERT_EQ(write(writer, "the cat\n", 8), 8);
    });
    const Outcome outcome = run_and_interrupt("embed " + model.path() + " " + fifo + " --max-batch-tokens 20 --output " + out,
                                              signal, [&](const Outcome&) {
                                                std::error_code error;
                                                const auto size = std::filesystem::file_size(part, error);
                                                return !error && size > kNpyHeader + 100 * kWidth * sizeof(float);
                                              });
    feeder.join();
    close(writer);
    std::filesystem::remove(fifo);
    EXPECT_EQ(outcome.exit, 128 + signal) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, word) && contains(outcome.err, "out." + format + ".part holds ")) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(out));
    const std::string bytes = content(part);
    if (format == "npy") {
      const size_t rows = (bytes.size() - kNpyHeader) / (kWidth * sizeof(float));
      EXPECT_GE(rows, 100u);
      (void)npy(bytes, rows);
    } else {
      EXPECT_EQ(bytes.back(), '\n');
      EXPECT_GE(lines_of_numbers(bytes, true).size(), 30 * kWidth);
    }
  }
}

TEST(Model, MemoryDoesNotGrowWithTheNumberOfLines) {
  const ModelDirectory model;
  const auto peak_of = [&](int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) text += "the cat and the dog\n";
    const TemporaryFile file(text);
    const Outcome outcome =
        run_command("embed " + model.path() + " " + file.path() + " --threads 1 --output " + model.path() + "/out.npy");
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return outcome.peak_rss_bytes;
  };
  const int64_t few = peak_of(8000), many = peak_of(80000);
  EXPECT_LT(many, few + (int64_t{4} << 20)) << few << " bytes for 8,000 lines, " << many << " for 80,000";
}

TEST(Model, ProgressOnATerminalOnly) {
  const ModelDirectory model;
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "the cat and the dog by the river\n";
  const TemporaryFile file(text);
  const std::string embed =
      "embed " + model.path() + " " + file.path() + " --threads 1 --max-batch-tokens 500 --output " + model.path() + "/out.npy";
  const Outcome terminal = run_on_terminal(embed, "TERM=xterm");
  EXPECT_EQ(terminal.exit, 0);
  for (const char* part : {"embedding [", " texts, ", " a second", "ETA "}) EXPECT_TRUE(contains(terminal.out, part)) << part;
  EXPECT_EQ(run_command(embed).err, "");
}

TEST(Model, RerankSortsByScore) {
  const ModelDirectory model(1), embedder, classifier(3);
  const TemporaryFile texts("the cat\nthe dog by the house\n\nriver\n");
  const std::string rerank = "rerank " + model.path() + " --query 'the house' " + texts.path();
  const json results = run_command(rerank + " --json").json()["results"];
  const json& ranked = results["ranked"];
  ASSERT_EQ(ranked.size(), 4u);
  std::vector<int> indices;
  for (size_t i = 0; i < ranked.size(); ++i) {
    indices.push_back(ranked[i]["index"]);
    EXPECT_GT(ranked[i]["score"], 0.0);
    EXPECT_LT(ranked[i]["score"], 1.0);
    if (i > 0) {
      EXPECT_LE(ranked[i]["score"], ranked[i - 1]["score"]);
    }
  }
  const Outcome text = run_command(rerank);
  EXPECT_EQ(text.exit, 0) << text.err;
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 4);
  EXPECT_TRUE(contains(text.out, "the dog by the house"));
  std::sort(indices.begin(), indices.end());
  EXPECT_EQ(indices, (std::vector<int>{0, 1, 2, 3}));
  for (const ModelDirectory* other : {&embedder, &classifier}) {
    const Outcome outcome = run_command("rerank " + other->path() + " --query x " + texts.path());
    EXPECT_EQ(outcome.exit, 4);
    EXPECT_TRUE(contains(outcome.err, "is no reranker")) << outcome.err;
  }
}

TEST(Model, TokenizeShowsIdsAndTokens) {
  const ModelDirectory model;
  const TemporaryFile texts("The cats\n\n\xff\x1b[31m\n");
  const Outcome text = run_command("tokenize " + model.path() + " " + texts.path());
  EXPECT_EQ(text.exit, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "2:[CLS] 8:the 9:cat ")) << text.out;
  EXPECT_TRUE(contains(text.out, "\n2:[CLS] 3:[SEP]\n")) << text.out;
  EXPECT_FALSE(contains(text.out, "\x1b"));
  const json results = run_command("tokenize --json " + model.path() + " " + texts.path()).json()["results"];
  EXPECT_EQ(results["tokenizer"], "WordPiece");
  EXPECT_EQ(results["texts"][1]["ids"], (std::vector<int>{2, 3}));
  EXPECT_EQ(results["texts"][1]["special"], (std::vector<int>{1, 1}));
  EXPECT_EQ(results["texts"][0]["tokens"][1], "the");
}

TEST(Model, InspectTellsWhatTheModelIs) {
  const ModelDirectory model;
  const json results = run_command("inspect --json " + model.path()).json()["results"];
  EXPECT_EQ(results["family"], "bert");
  EXPECT_EQ(results["layers"], ModelDirectory::kLayers);
  EXPECT_EQ(results["output_width"], ModelDirectory::kWidth);
  EXPECT_EQ(results["max_tokens"], 48);
  EXPECT_EQ(results["pooling"], "mean");
  EXPECT_EQ(results["pooling_source"], "default");
  EXPECT_GT(results["arena_bytes_per_token"], 100);
  EXPECT_GT(results["weight_bytes"], 1000);
  EXPECT_GT(results["plan"]["steps"].size(), 8u);
  const Outcome text = run_command("inspect " + model.path());
  for (const char* word :
       {"family", "sizes", "parameters", "tokenizer", "longest text", "pooling", "vectors", "memory", "linear x3", "attention"}) {
    EXPECT_TRUE(contains(text.out, word)) << word;
  }
}

TEST(Model, SimilarityIsATableOfCosines) {
  const ModelDirectory model;
  const TemporaryFile texts("the cat\nthe dog\nriver\n");
  const std::string similarity = "similarity " + model.path() + " " + texts.path();
  const json cosines = run_command(similarity + " --json").json()["results"]["cosines"];
  ASSERT_EQ(cosines.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(cosines[i][i].get<double>(), 1, 1e-9);
    for (size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(cosines[i][j], cosines[j][i]);
      EXPECT_LE(std::fabs(cosines[i][j].get<double>()), 1 + 1e-9);
    }
  }
  EXPECT_TRUE(contains(run_command(similarity).out, "[1] the dog"));
  EXPECT_FALSE(contains(run_command(similarity).out, "\x1b"));
  EXPECT_TRUE(contains(run_on_terminal(similarity, "TERM=xterm-256color").out, "\x1b[38;5;255;48;5;39m"));
  const TemporaryFile many(std::string(65, '\n'));
  EXPECT_EQ(run_command("similarity " + model.path() + " " + many.path()).exit, 1);
  // Weights that hold a NaN are not texts that have nothing in common.
  const float nan = NAN;
  std::fstream weights(model.path() + "/model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  weights.seekp(-static_cast<std::streamoff>(sizeof nan), std::ios::end).write(reinterpret_cast<const char*>(&nan), sizeof nan);
  weights.close();
  EXPECT_TRUE(contains(run_command(similarity).out, "nan"));
  EXPECT_TRUE(run_command(similarity + " --json").json()["results"]["cosines"][0][0].is_null());
}

TEST(Model, BenchTimesADirectory) {
  const ModelDirectory model, reranker(1);
  for (const ModelDirectory* directory : {&model, &reranker}) {
    const Outcome outcome =
        run_command("bench encoder --repeat 2 --threads 1 --json --lengths 5,0,48 --model " + directory->path());
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    const json results = outcome.json()["results"];
    EXPECT_EQ(results["tokens"], 53);
    EXPECT_EQ(results["sequences"], 3);
    for (const char* key : {"seconds_min", "useful_tokens_per_second", "gflops", "arena_bytes"})
      EXPECT_GT(results[key], 0.0) << key;
  }
  EXPECT_EQ(run_command("bench encoder --repeat 1 --lengths 65 --model " + model.path()).exit, 1);  // beyond the position table
}

TEST(Model, UnusableModelsAreExitCode4) {
  const ModelDirectory broken, unknown, no_weights;
  broken.write("config.json", std::string("{"));
  unknown.change("config.json", {{"model_type", "t5"}, {"architectures", {"T5Model"}}});
  no_weights.remove("model.safetensors");
  const TemporaryFile texts("x\n");
  const std::pair<std::string, const char*> cases[] = {{"/nonexistent/model", "/nonexistent/model"},
                                                       {broken.path(), "config.json"},
                                                       {unknown.path(), "T5Model"},
                                                       {no_weights.path(), "model.safetensors"}};
  for (const auto& [directory, message] : cases) {
    for (const std::string command : {"embed", "similarity", "inspect", "rerank --query x", "bench encoder --repeat 1 --model"}) {
      const Outcome outcome =
          run_command(command + " " + directory + (command == "inspect" || contains(command, "bench") ? "" : " " + texts.path()));
      EXPECT_EQ(outcome.exit, 4) << command << " " << directory;
      EXPECT_EQ(outcome.out, "");
      EXPECT_TRUE(contains(outcome.err, message)) << outcome.err;
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
  }
  EXPECT_EQ(run_command("tokenize /nonexistent/model " + texts.path()).exit, 4);
  const TemporaryFile nothing("");
  const ModelDirectory model;
  for (const char* command : {"embed ", "similarity "}) {
    const Outcome outcome = run_command(command + model.path() + " " + nothing.path());
    EXPECT_EQ(outcome.exit, 1);
    EXPECT_TRUE(contains(outcome.err, "holds no text")) << outcome.err;
  }
}

}  // namespace
}  // namespace saccade::test
