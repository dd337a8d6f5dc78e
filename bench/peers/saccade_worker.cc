// Saccade's side of the encoders in bench/peers: a published model directory in, hidden states out, through the public API.
//
//   load DIR THREADS    -> ok ISA
//   case NAME FILE      -> ok            FILE: the lengths of the sequences on one line, their token ids on the next
//   run NAME COUNT      -> ok S S ...    seconds of each call: ids of the live tokens in, hidden states of the last layer out
//   output NAME FILE    -> ok            FILE: the hidden states of the last call, f32 [live tokens, width]
//   rss                 -> ok BYTES      largest resident size of the process so far
#include <map>
#include <numeric>
#include <optional>
#include <span>

#include "bench/peers/protocol.h"
#include "saccade/batch.h"
#include "saccade/context.h"
#include "saccade/encoder.h"

namespace {

struct Case {
  std::vector<int64_t> lengths;
  std::vector<int32_t> ids, type_ids;  // [tokens]; the types are zeros
  std::vector<float> hidden;           // [tokens, width]
};

class Worker {
 public:
  std::string load(const std::string& directory, int threads) {
    const saccade::ModelGraph model = peers::take(saccade::load_graph(directory));
    width_ = model.width;
    type_ids_ = model.type_ids;
    const saccade::Plan plan = peers::take(saccade::Plan::compile(model.graph, {.outputs = {"hidden"}, .release_weights = true}));
    context_.emplace(peers::take(saccade::Context::create(plan, {.threads = threads})));
    return plan.isa();
  }

  void add(const std::string& name, const std::string& path) {
    std::ifstream file(path);
    std::string lengths, ids;
    std::getline(file, lengths);
    std::getline(file, ids);
    Case c;
    std::istringstream length_words(lengths), id_words(ids);
    c.lengths = peers::numbers<int64_t>(length_words);
    c.ids = peers::numbers<int32_t>(id_words);
    if (c.ids.empty() || std::accumulate(c.lengths.begin(), c.lengths.end(), int64_t{0}) != std::ssize(c.ids)) {
      throw std::runtime_error(path + ": lengths and ids do not agree");
    }
    c.type_ids.resize(c.ids.size());
    c.hidden.resize(c.ids.size() * static_cast<size_t>(width_));
    cases_[name] = std::move(c);
  }

  void run(Case& c) {
    const int64_t tokens = std::ssize(c.ids);
    batch_.assign_lengths(c.lengths);
    const saccade::Input inputs[] = {{"ids", saccade::packed(saccade::ConstMatrix(c.ids.data(), tokens))},
                                     {"type_ids", saccade::packed(saccade::ConstMatrix(c.type_ids.data(), tokens))}};
    const saccade::Output outputs[] = {{"hidden", saccade::packed(saccade::Matrix(c.hidden.data(), tokens, width_))}};
    peers::check(context_.value().run(batch_, std::span(inputs, type_ids_ ? 2 : 1), outputs));
  }

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, name, path;
    int64_t count = 0;
    words >> command;
    if (command == "rss") return peers::peak_resident();
    if (command == "load" && words >> path >> count) return load(path, static_cast<int>(count));
    if (command == "case" && words >> name >> path) return add(name, path), "";
    if (command == "output" && words >> name >> path) return peers::write_floats(path, cases_.at(name).hidden), "";
    if (command == "run" && words >> name >> count) {
      Case& c = cases_.at(name);
      return peers::time_calls(count, [&] { run(c); });
    }
    throw std::runtime_error("no such command: " + line);
  }

 private:
  std::optional<saccade::Context> context_;
  saccade::Batch batch_;
  std::map<std::string, Case> cases_;
  int64_t width_ = 0;
  bool type_ids_ = false;
};

}  // namespace

int main() {
  Worker worker;
  return peers::serve([&](const std::string& line) { return worker.answer(line); });
}
