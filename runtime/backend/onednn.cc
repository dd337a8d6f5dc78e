// onednn_backend(): linears of a plan by oneDNN's f32 matmul, 2.6 and 3.x. The only file that includes dnnl.hpp.
//
// A linear gets one primitive per row count of kTileRows, made once; a call is cut into these, so no shape of a batch ever
// compiles anything. Their memory layouts are dense: rows that lie apart pass through a buffer (a copy of rows * (in + out)
// floats beside 2 * rows * in * out operations; oneDNN's layouts with strides known at run time leave its fast kernels).
#include "saccade/onednn.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <dnnl.hpp>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace saccade {
inline namespace v0 {
namespace {

using dnnl::memory;

constexpr std::array<int64_t, 9> kTileRows = {256, 128, 64, 32, 16, 8, 4, 2, 1};

// oneDNN's OpenMP runtime, looked up rather than linked: it is whichever one oneDNN brought along.
struct OpenMp {
  int (*get_max_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;

  static OpenMp find() {
    return {reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")),
            reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))};
  }
};

// The OpenMP thread count of the calling thread is 1 here, and afterwards what it was. Primitives are made so too: their blocking
// depends on it.
class OneThread {
 public:
  explicit OneThread(const OpenMp& omp) : omp_(omp) {
    if (omp_.get_max_threads == nullptr) return;
    before_ = omp_.get_max_threads();
    if (before_ != 1) omp_.set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_.set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const OpenMp& omp_;
  int before_ = 1;
};

// Memory of one call: oneDNN's scratchpad, and rows on their way from and to strided matrices.
struct Scratch {
  char* data = nullptr;
  size_t bytes = 0;

  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { release(); }
  void release() { ::operator delete(data, std::align_val_t{64}); }
  void grow(size_t wanted) {
    if (wanted <= bytes) return;
    release();
    data = nullptr;
    bytes = 0;
    data = static_cast<char*>(::operator new(wanted, std::align_val_t{64}));
    bytes = wanted;
  }
};

// What all linears of a backend share. A call takes a scratch from the first full slot and puts it back into the first empty one:
// no lock that a fork could leave taken, and as many buffers as there were calls at once.
class Core {
 public:
  Core() : engine(dnnl::engine::kind::cpu, 0) {}
  ~Core() {
    for (auto& slot : slots_) delete slot.load(std::memory_order_relaxed);
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  std::unique_ptr<Scratch> take() {
    for (auto& slot : slots_) {
      if (Scratch* scratch = slot.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<Scratch>(scratch);
    }
    return std::make_unique<Scratch>();
  }
  void put_back(std::unique_ptr<Scratch> scratch) {
    for (auto& slot : slots_) {
      Scratch* empty = nullptr;
      if (slot.compare_exchange_strong(empty, scratch.get(), std::memory_order_release, std::memory_order_relaxed)) {
        (void)scratch.release();
        return;
      }
    }
  }

  const dnnl::engine engine;
  const OpenMp omp = OpenMp::find();

 private:
  std::array<std::atomic<Scratch*>, 64> slots_{};
};

Status status_of(const char* where, const std::exception& error) {
  Code code = Code::kInternal;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) code = Code::kResourceExhausted;
  if (const auto* dnnl = dynamic_cast<const dnnl::error*>(&error)) {
    if (dnnl->status == dnnl_out_of_memory) code = Code::kResourceExhausted;
    if (dnnl->status == dnnl_unimplemented) code = Code::kUnsupported;
    if (dnnl->status == dnnl_invalid_arguments) code = Code::kInvalidArgument;
  }
  return Status(code, std::string(where) + ": " + error.what());
}

dnnl::matmul::primitive_desc matmul_desc(const dnnl::engine& engine, const memory::desc& src, const memory::desc& weights,
                                         const memory::desc* bias, const memory::desc& dst) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // calls may then run at the same time
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);        // f32, whatever ONEDNN_DEFAULT_FPMATH_MODE says
#if DNNL_VERSION_MAJOR >= 3
  if (bias != nullptr) return {engine, src, weights, *bias, dst, attr};
  return {engine, src, weights, dst, attr};
#else
  if (bias != nullptr) return {dnnl::matmul::desc(src, weights, *bias, dst), attr, engine};
  return {dnnl::matmul::desc(src, weights, dst), attr, engine};
#endif
}

class OnednnLinear final : public PreparedLinear {
 public:
  OnednnLinear(std::shared_ptr<Core> core, const LinearSpec& spec) : core_(std::move(core)), in_(spec.in), out_(spec.out) {
    const OneThread one(core_->omp);
    dnnl::stream stream(core_->engine);
    if (spec.bias != nullptr) {
      bias_ = memory(memory::desc({1, out_}, memory::data_type::f32, memory::format_tag::ab), core_->engine);
      std::memcpy(bias_.get_data_handle(), spec.bias, static_cast<size_t>(out_) * sizeof(float));
      bytes_ += out_ * int64_t{sizeof(float)};
    }
    for (size_t i = 0; i < kTileRows.size(); ++i) make_tile(tiles_[i], kTileRows[i], spec, stream);
  }

  Status run(const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride) const override {
    if (rows <= 0) return {};
    if (x == nullptr || y == nullptr) {
      return Status(Code::kInvalidArgument, std::string("onednn: ") + (x == nullptr ? "x" : "y") + ": expected memory, got null");
    }
    if (rows > 1 && (x_stride < in_ || y_stride < out_)) {
      return Status(Code::kInvalidArgument, "onednn: strides: expected at least " + std::to_string(in_) + " and " +
                                                std::to_string(out_) + ", got " + std::to_string(x_stride) + " and " +
                                                std::to_string(y_stride));
    }
    try {
      const OneThread one(core_->omp);
      dnnl::stream stream(core_->engine);
      std::unique_ptr<Scratch> scratch = core_->take();
      for (const Tile& tile : tiles_) {
        for (; rows >= tile.rows; rows -= tile.rows, x += tile.rows * x_stride, y += tile.rows * y_stride) {
          run_tile(tile, *scratch, stream, x, x_stride, y, y_stride);
        }
      }
      core_->put_back(std::move(scratch));
      return {};
    } catch (const std::exception& error) {
      return status_of("onednn", error);
    }
  }

  int64_t bytes() const override { return bytes_; }

 private:
  struct Tile {
    int64_t rows = 0;
    dnnl::matmul primitive;
    memory::desc src, dst, scratchpad;
    memory weights;  // shared by the tiles that read the same layout
  };

  // Tiles go from the largest down. The layout that the largest likes best is kept for the others, unless only oneDNN's reference
  // loop would take it; then that tile gets the weights in a layout of its own.
  void make_tile(Tile& tile, int64_t rows, const LinearSpec& spec, dnnl::stream& stream) {
    tile.rows = rows;
    tile.src = memory::desc({rows, in_}, memory::data_type::f32, memory::format_tag::ab);
    tile.dst = memory::desc({rows, out_}, memory::data_type::f32, memory::format_tag::ab);
    memory::desc bias;
    if (spec.bias != nullptr) bias = bias_.get_desc();
    const auto describe = [&](const memory::desc& weights) {
      return matmul_desc(core_->engine, tile.src, weights, spec.bias != nullptr ? &bias : nullptr, tile.dst);
    };
    const auto finish = [&](const dnnl::matmul::primitive_desc& desc, const memory& weights) {
      tile.scratchpad = desc.scratchpad_desc();
      tile.primitive = dnnl::matmul(desc);
      tile.weights = weights;
    };
    for (const memory& weights : layouts_) {
      try {
        const auto desc = describe(weights.get_desc());
        if (std::strncmp(desc.impl_info_str(), "ref", 3) == 0) continue;
        finish(desc, weights);
        return;
      } catch (const dnnl::error& error) {
        if (error.status != dnnl_unimplemented) throw;
      }
    }
    const auto desc = describe(memory::desc({in_, out_}, memory::data_type::f32, memory::format_tag::any));
    for (const memory& weights : layouts_) {
      if (weights.get_desc() == desc.weights_desc()) {
        finish(desc, weights);
        return;
      }
    }
    layouts_.push_back(reorder(spec, desc.weights_desc(), stream));
    finish(desc, layouts_.back());
  }

  memory reorder(const LinearSpec& spec, const memory::desc& layout, dnnl::stream& stream) {
    // The stride of a dimension of 1 is never used, but oneDNN checks it.
    memory::dims strides = {spec.in_stride, spec.out_stride};
    if (in_ == 1) strides[0] = out_ * spec.out_stride;
    if (out_ == 1) strides[1] = in_ == 1 ? 1 : in_ * spec.in_stride;
    memory from(memory::desc({in_, out_}, memory::data_type::f32, strides), core_->engine, const_cast<float*>(spec.w));
    memory to(layout, core_->engine);
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    bytes_ += static_cast<int64_t>(layout.get_size());
    return to;
  }

  void run_tile(const Tile& tile, Scratch& scratch, dnnl::stream& stream, const float* x, int64_t x_stride, float* y,
                int64_t y_stride) const {
    const auto rounded = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
    const size_t x_bytes = tile.rows > 1 && x_stride != in_ ? rounded(tile.src.get_size()) : 0;
    const size_t y_bytes = tile.rows > 1 && y_stride != out_ ? rounded(tile.dst.get_size()) : 0;
    scratch.grow(x_bytes + y_bytes + rounded(tile.scratchpad.get_size()));
    char* const pad = scratch.data + x_bytes + y_bytes;
    const float* dense_x = x;
    float* dense_y = y;
    if (x_bytes > 0) {
      auto* rows = reinterpret_cast<float*>(scratch.data);
      copy_rows(tile.rows, in_, x, x_stride, rows, in_);
      dense_x = rows;
    }
    if (y_bytes > 0) dense_y = reinterpret_cast<float*>(scratch.data + x_bytes);
    std::unordered_map<int, memory> args = {{DNNL_ARG_SRC, memory(tile.src, core_->engine, const_cast<float*>(dense_x))},
                                            {DNNL_ARG_WEIGHTS, tile.weights},
                                            {DNNL_ARG_DST, memory(tile.dst, core_->engine, dense_y)},
                                            {DNNL_ARG_SCRATCHPAD, memory(tile.scratchpad, core_->engine, pad)}};
    if (bias_) args.emplace(DNNL_ARG_BIAS, bias_);
    tile.primitive.execute(stream, args);
    stream.wait();
    if (y_bytes > 0) copy_rows(tile.rows, out_, dense_y, out_, y, y_stride);
  }

  static void copy_rows(int64_t rows, int64_t width, const float* from, int64_t from_stride, float* to, int64_t to_stride) {
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * to_stride, from + r * from_stride, static_cast<size_t>(width) * sizeof(float));
  }

  const std::shared_ptr<Core> core_;
  const int64_t in_, out_;
  int64_t bytes_ = 0;
  memory bias_;
  std::vector<memory> layouts_;
  std::array<Tile, kTileRows.size()> tiles_;
};

Status check(const LinearSpec& spec) {
  const auto bad = [](const char* argument, const char* expected, int64_t got) {
    return Status(Code::kInvalidArgument,
                  std::string("onednn: prepare: ") + argument + ": expected " + expected + ", got " + std::to_string(got));
  };
  // A 256-row tile of either side stays countable in bytes.
  constexpr int64_t kMost = int64_t{1} << 40;
  if (spec.w == nullptr) return Status(Code::kInvalidArgument, "onednn: prepare: w: expected memory, got null");
  if (spec.in < 1 || spec.in > kMost) return bad("in", "1 to 2^40", spec.in);
  if (spec.out < 1 || spec.out > kMost) return bad("out", "1 to 2^40", spec.out);
  if (spec.in > 1 && spec.in_stride < 1) return bad("in_stride", "at least 1", spec.in_stride);
  if (spec.out > 1 && spec.out_stride < 1) return bad("out_stride", "at least 1", spec.out_stride);
  return {};
}

class OnednnBackend final : public LinearBackend {
 public:
  OnednnBackend() : core_(std::make_shared<Core>()), name_(std::string("oneDNN ") + onednn_version()) {}

  const char* name() const override { return name_.c_str(); }
  int64_t row_tile() const override { return kTileRows[0]; }

  Result<std::unique_ptr<PreparedLinear>> prepare(const LinearSpec& spec) override {
    if (Status status = check(spec); !status.ok()) return status;
    try {
      return std::unique_ptr<PreparedLinear>(std::make_unique<OnednnLinear>(core_, spec));
    } catch (const std::exception& error) {
      return status_of("onednn: prepare", error);
    }
  }

  // Whether calls can be kept on their thread.
  Status usable() const {
    const unsigned runtime = dnnl_version()->cpu_runtime;
    if (runtime == DNNL_RUNTIME_SEQ) return {};
    if (runtime == DNNL_RUNTIME_OMP && core_->omp.get_max_threads != nullptr && core_->omp.set_num_threads != nullptr) return {};
    return Status(Code::kUnsupported,
                  "onednn_backend: expected a oneDNN that is sequential or runs on OpenMP, got one with CPU runtime " +
                      std::to_string(runtime));
  }

 private:
  const std::shared_ptr<Core> core_;
  const std::string name_;
};

}  // namespace

Result<std::shared_ptr<LinearBackend>> onednn_backend() {
  try {
    auto backend = std::make_shared<OnednnBackend>();
    if (Status status = backend->usable(); !status.ok()) return status;
    return std::shared_ptr<LinearBackend>(std::move(backend));
  } catch (const std::exception& error) {
    return status_of("onednn_backend", error);
  }
}

const char* onednn_version() noexcept {
  struct Text {
    char text[32];
  };
  static const Text version = [] {
    Text t;
    const dnnl_version_t* v = dnnl_version();
    std::snprintf(t.text, sizeof(t.text), "%d.%d.%d", v->major, v->minor, v->patch);
    return t;
  }();
  return version.text;
}

}  // namespace v0
}  // namespace saccade
