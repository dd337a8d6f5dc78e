// Saccade's side of the single ops in bench/peers: attention() of the public API, and the softmax and GELU kernels on kept
// buffers.
//
//   load THREADS                                                     -> ok ISA
//   op NAME attention FILE BATCH HEADS LENGTH DIM CAUSAL [LENGTHS]   -> ok   FILE: q, k, v, each f32 [batch, heads, length, dim]
//   op NAME softmax|gelu FILE ROWS WIDTH                             -> ok   FILE: f32 [rows, width]
//   run NAME COUNT, output NAME FILE, rss                            -> as in saccade_worker.cc
#include <map>
#include <memory>

#include "bench/peers/protocol.h"
#include "kernels/kernels.h"
#include "saccade/attention.h"
#include "saccade/machine.h"

namespace {

namespace kernels = saccade::kernels;

struct Op {
  std::vector<float> in, out;
  std::vector<int64_t> lengths;
  std::function<void()> call;
};

std::vector<float> read_floats(const std::string& path, size_t count) {
  std::vector<float> values(count);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(float)))) {
    throw std::runtime_error(path + ": " + std::to_string(count) + " floats expected");
  }
  return values;
}

class Worker {
 public:
  std::string load(int threads) {
    const std::string isa = saccade::machine().isa;
    kernels::Isa parsed;
    if (!kernels::parse_isa(isa, parsed)) throw std::runtime_error("no usable ISA");
    table_ = kernels::table_for(parsed);
    workspace_ = std::make_unique<saccade::Workspace>(peers::take(saccade::Workspace::create({.threads = threads})));
    return isa;
  }

  void add_attention(Op& op, const std::string& path, std::istream& words) {
    const std::vector<int64_t> values = peers::numbers<int64_t>(words);
    if (values.size() < 5) throw std::runtime_error("attention: BATCH HEADS LENGTH DIM CAUSAL expected");
    const int64_t batch = values[0], heads = values[1], length = values[2], dim = values[3];
    const auto size = static_cast<size_t>(batch * heads * length * dim);
    op.in = read_floats(path, 3 * size);
    op.out.resize(size);
    op.lengths.assign(values.begin() + 5, values.end());
    saccade::AttentionArgs args;
    args.batch = batch, args.heads = heads, args.queries = args.keys = length, args.head_dim = dim;
    args.q = saccade::bhsd<const float>(op.in.data(), length, heads, dim);
    args.k = saccade::bhsd<const float>(op.in.data() + size, length, heads, dim);
    args.v = saccade::bhsd<const float>(op.in.data() + 2 * size, length, heads, dim);
    args.out = saccade::bhsd(op.out.data(), length, heads, dim);
    args.causal = values[4] != 0 ? saccade::Causal::kTopLeft : saccade::Causal::kNone;
    args.q_lengths = args.kv_lengths = op.lengths;
    op.call = [this, args] { peers::check(saccade::attention(args, *workspace_)); };
  }

  void add_rows(Op& op, const std::string& kind, const std::string& path, std::istream& words) {
    size_t rows = 0, width = 0;
    if (!(words >> rows >> width)) throw std::runtime_error(kind + ": ROWS WIDTH expected");
    op.in = read_floats(path, rows * width);
    op.out.resize(op.in.size());
    const float* x = op.in.data();
    float* y = op.out.data();
    if (kind == "softmax") {
      op.call = [=, this] {
        table_->softmax({.x = x, .x_stride = width, .rows = rows, .width = width, .y = y, .y_stride = width});
      };
    } else {
      op.call = [=, this] {
        table_->map(
            {.x = x, .x_stride = width, .rows = rows, .width = width, .f = kernels::Unary::kGeluErf, .y = y, .y_stride = width});
      };
    }
  }

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, name, kind, path;
    int64_t count = 0;
    words >> command;
    if (command == "rss") return peers::peak_resident();
    if (command == "load" && words >> count) return load(static_cast<int>(count));
    if (command == "op" && words >> name >> kind >> path && (kind == "attention" || kind == "softmax" || kind == "gelu")) {
      ops_.erase(name);
      Op& op = ops_[name];
      return kind == "attention" ? add_attention(op, path, words) : add_rows(op, kind, path, words), "";
    }
    if (command == "output" && words >> name >> path) return peers::write_floats(path, ops_.at(name).out), "";
    if (command == "run" && words >> name >> count) return peers::time_calls(count, ops_.at(name).call);
    throw std::runtime_error("no such command: " + line);
  }

 private:
  const kernels::KernelTable* table_ = nullptr;
  std::unique_ptr<saccade::Workspace> workspace_;
  std::map<std::string, Op> ops_;
};

}  // namespace

int main() {
  Worker worker;
  return peers::serve([&](const std::string& line) { return worker.answer(line); });
}
