// SPDX-License-Identifier: Apache-2.0
#include "kv_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "compute_threads.hpp"
#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;

namespace {

const ggml_tensor* root_of(const ggml_tensor* tensor) {
  return tensor->view_src != nullptr ? tensor->view_src : tensor;
}

// llama.cpp attends to so many rows at least, and always to a multiple of them.
constexpr std::uint64_t kRowsRead = 256;

}  // namespace

void KvDevice::place(ggml_tensor& tensor) {
  if (tensor.view_src != nullptr) return;  // it has its source's address
  const bool keys = std::strncmp(tensor.name, "cache_k_l", 9) == 0;
  if (!keys && std::strncmp(tensor.name, "cache_v_l", 9) != 0)
    throw Failure(std::string(tensor.name) + " is no part of a KV cache");
  const auto layer = static_cast<std::uint32_t>(std::atoi(tensor.name + 9));
  if (layer >= kv_->layers() || ggml_nbytes(&tensor) != kv_->plane_bytes())
    throw Failure(std::string(tensor.name) + " is not as large as the other layers' planes");
  if (static_cast<std::uint64_t>(tensor.ne[1] * tensor.ne[2]) != options_.rows)
    throw Failure(std::string(tensor.name) + " is for another number of tokens");
  tensor.data = keys ? kv_->keys(layer) : kv_->values(layer);
  planes_[&tensor] = {layer, keys};
  row_bytes_ = tensor.nb[1];
  rows_per_sequence_ = static_cast<std::uint64_t>(tensor.ne[1]);
  rows_used_.assign(static_cast<std::size_t>(tensor.ne[2]), 0);
}

void KvDevice::clear(std::uint8_t value) {
  kv_->pass({}, {kv_->all_rows()}, [&](std::uint32_t layer) {
    std::memset(kv_->keys(layer), value, kv_->plane_bytes());
    std::memset(kv_->values(layer), value, kv_->plane_bytes());
  });
}

void KvDevice::visit(const ggml_tensor& tensor, std::size_t offset, std::size_t bytes, bool writes,
                     const std::function<void(std::byte* at)>& work) {
  const std::size_t first = tensor.view_offs + offset;  // in the plane
  const std::vector<RowRange> rows{
      {first / row_bytes_, (first + bytes + row_bytes_ - 1) / row_bytes_}};
  const std::uint32_t layer = plane_of(&tensor)->layer;
  for (std::uint64_t row = rows[0].begin; writes && row < rows[0].end; ++row)
    rows_used_.at(row / rows_per_sequence_) = rows_per_sequence_;  // as far as anybody knows
  kv_->pass(rows, writes ? rows : std::vector<RowRange>{}, [&](std::uint32_t at) {
    if (at == layer) work(static_cast<std::byte*>(tensor.data) + offset);
  });
}

const KvDevice::Plane* KvDevice::plane_of(const ggml_tensor* tensor) const {
  if (tensor == nullptr) return nullptr;
  const auto found = planes_.find(root_of(tensor));
  return found == planes_.end() ? nullptr : &found->second;
}

bool KvDevice::touches_cache(const ggml_tensor& op) const {
  return plane_of(&op) != nullptr ||
         std::ranges::any_of(op.src, [&](const ggml_tensor* s) { return plane_of(s) != nullptr; });
}

// A graph holds the part of one layer between what the CPU's backend computes: rows are written,
// then attended to, perhaps in two graphs.
void KvDevice::compute(ggml_backend_t cpu, ggml_cgraph& graph) {
  const Plane* plane = nullptr;
  std::vector<const ggml_tensor*> written, attended;
  for (int i = 0; i < ggml_graph_n_nodes(&graph); ++i) {
    const ggml_tensor* const node = ggml_graph_node(&graph, i);
    for (const ggml_tensor* const used : {node, static_cast<const ggml_tensor*>(node->src[1])}) {
      const Plane* const now = plane_of(used);
      if (now == nullptr) continue;
      if (plane != nullptr && now->layer != plane->layer)
        throw Failure("llama.cpp computes two layers at a time");
      plane = now;
    }
    if (node->op == GGML_OP_SET_ROWS) written.push_back(node->src[1]);
    if (node->op == GGML_OP_FLASH_ATTN_EXT) attended.push_back(node);
  }
  enum ggml_status status = GGML_STATUS_SUCCESS;
  const auto work = [&] { status = ggml_backend_graph_compute(cpu, &graph); };
  if (plane == nullptr) {
    work();
  } else {
    if (!kv_->within_pass()) begin_pass(written);
    for (const ggml_tensor* const node : attended) {
      check_reads(*node->src[1]);
      check_reads(*node->src[2]);
    }
    kv_->on_layer(plane->layer, work);
    if (!attended.empty()) kv_->end_layer(plane->layer);
  }
  if (status != GGML_STATUS_SUCCESS) throw Failure("ggml_backend_graph_compute failed");
}

// llama.cpp names the rows that it writes, and attends to those of the same sequences, from the
// first to the last used one, in whole kRowsRead.
void KvDevice::begin_pass(const std::vector<const ggml_tensor*>& rows_written) {
  std::vector<RowRange> writes;
  for (const ggml_tensor* const rows : rows_written) {
    if (rows->type != GGML_TYPE_I64) throw Failure("rows of the KV cache are not told as I64");
    const auto* const numbers = static_cast<const std::int64_t*>(rows->data);
    for (std::int64_t i = 0; i < ggml_nelements(rows); ++i) {
      const auto row = static_cast<std::uint64_t>(numbers[i]);
      writes.push_back({row, row + 1});
    }
  }
  if (writes.empty()) throw Failure("a pass that writes no row of the KV cache");
  reads_.clear();
  for (const RowRange& row : writes) {
    const std::uint64_t sequence = row.begin / rows_per_sequence_;
    std::uint64_t& used = rows_used_.at(sequence);
    used = std::max(used, row.end - sequence * rows_per_sequence_);
    const std::uint64_t read = (used + kRowsRead - 1) / kRowsRead * kRowsRead;
    const std::uint64_t begin = sequence * rows_per_sequence_;
    const RowRange range{begin, begin + std::min(read, rows_per_sequence_)};
    if (!reads_.empty() && reads_.back().begin == range.begin) reads_.pop_back();
    reads_.push_back(range);
  }
  kv_->begin_pass(reads_, writes);
}

void KvDevice::check_reads(const ggml_tensor& cache_view) const {
  for (std::int64_t s = 0; s < cache_view.ne[3]; ++s) {
    const std::uint64_t begin =
        (cache_view.view_offs + static_cast<std::size_t>(s) * cache_view.nb[3]) / row_bytes_;
    const std::uint64_t end = begin + static_cast<std::uint64_t>(cache_view.ne[1]);
    const bool there = std::ranges::any_of(
        reads_, [&](const RowRange& r) { return r.begin <= begin && end <= r.end; });
    if (!there) throw Failure("llama.cpp attends to rows that were not brought in");
  }
}

// --- what ggml calls ---------------------------------------------------------------------------

struct KvDevice::Calls {
  struct Backend {
    KvDevice& device;
    ggml_backend_t cpu;
    std::optional<ComputeThreads> threads{};
  };
  static KvDevice& of(ggml_backend_dev_t device) {
    return *static_cast<KvDevice*>(device->context);
  }
  static KvDevice& of(ggml_backend_buffer_type_t buffers) {
    return *static_cast<KvDevice*>(buffers->context);
  }
  static KvDevice& of(ggml_backend_buffer_t buffer) {
    return *static_cast<KvDevice*>(buffer->context);
  }
  static Backend& of(ggml_backend_t backend) { return *static_cast<Backend*>(backend->context); }
  // ggml's callers pass no exception on. False: it is in failure_.
  template <typename Work>
  static bool tried(KvDevice& device, const Work& work) {
    try {
      work();
      return true;
    } catch (const std::exception& e) {
      device.failure_ = e.what();
      return false;
    }
  }
  // Runs `work` for a call that cannot say that it failed: a failure ends the process.
  template <typename Work>
  static void must_do(KvDevice& device, const Work& work) {
    if (!tried(device, work)) GGML_ABORT("KV cache: %s", device.failure_.c_str());
  }

  static const char* name(ggml_backend_reg_t) { return "aqua"; }
  static const char* name(ggml_backend_dev_t) { return "aqua-kv"; }
  static const char* name(ggml_backend_buffer_type_t) { return "aqua-kv"; }
  static const char* name(ggml_backend_t) { return "aqua-kv"; }
  static const char* describe(ggml_backend_dev_t) { return "a KV cache in a LayerPool"; }

  static std::size_t count_devices(ggml_backend_reg_t) { return 1; }
  static ggml_backend_dev_t device(ggml_backend_reg_t registry, std::size_t) {
    return static_cast<KvDevice*>(registry->context)->get();
  }
  static void* function(ggml_backend_reg_t, const char* name) {
    if (std::strcmp(name, "ggml_backend_set_n_threads") != 0) return nullptr;
    return reinterpret_cast<void*>(&set_threads);
  }
  static void set_threads(ggml_backend_t backend, int threads) {
    Backend& b = of(backend);
    if (b.threads && b.threads->count() == threads) return;
    must_do(b.device, [&] {
      ggml_backend_cpu_set_threadpool(b.cpu, nullptr);
      b.threads.emplace(threads);
      ggml_backend_cpu_set_n_threads(b.cpu, threads);
      ggml_backend_cpu_set_threadpool(b.cpu, b.threads->get());
    });
  }

  // Asked of what is left for weights, of which there are none here: ggml then takes the host's.
  static void memory(ggml_backend_dev_t, std::size_t* free, std::size_t* total) {
    *free = *total = 0;
  }
  static enum ggml_backend_dev_type type(ggml_backend_dev_t) {
    return GGML_BACKEND_DEVICE_TYPE_GPU;
  }
  static void properties(ggml_backend_dev_t device, ggml_backend_dev_props* of_it) {
    *of_it = {};
    of_it->name = name(device);
    of_it->description = describe(device);
    of_it->type = type(device);
    of_it->caps.mmap_support = true;  // of weights, which stay the CPU's
  }
  static ggml_backend_buffer_type_t buffer_type(ggml_backend_dev_t device) {
    return &of(device).buffers_;
  }
  static bool supports(ggml_backend_dev_t device, const ggml_tensor* op) {
    return of(device).touches_cache(*op);
  }
  static bool supports(ggml_backend_dev_t device, ggml_backend_buffer_type_t buffers) {
    return buffers == &of(device).buffers_ || ggml_backend_buft_is_host(buffers);
  }

  static ggml_backend_t begin(ggml_backend_dev_t device, const char*) {
    static ggml_guid guid{'a', 'q', 'u', 'a', '-', 'k', 'v'};
    ggml_backend_t const cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr);
    if (cpu == nullptr) return nullptr;
    ggml_backend_i calls{};
    calls.get_name = name;
    calls.free = end;
    calls.graph_compute = compute;
    return new ggml_backend{
        .guid = &guid, .iface = calls, .device = device, .context = new Backend{of(device), cpu}};
  }
  static void end(ggml_backend_t backend) {
    ggml_backend_free(of(backend).cpu);
    delete &of(backend);
    delete backend;
  }
  static enum ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) {
    const Backend& b = of(backend);
    const bool done = tried(b.device, [&] { b.device.compute(b.cpu, *graph); });
    return done ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
  }

  static ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t buffers, std::size_t bytes) {
    ggml_backend_buffer_t buffer = nullptr;
    return tried(of(buffers), [&] { buffer = of(buffers).allocate(bytes); }) ? buffer : nullptr;
  }
  static std::size_t alignment(ggml_backend_buffer_type_t) {
    return ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
  }
  static bool is_host(ggml_backend_buffer_type_t) { return true; }

  static void free(ggml_backend_buffer_t buffer) {
    of(buffer).planes_.clear();
    of(buffer).kv_.reset();
  }
  // What ggml reckons from here is not followed: place() gives each tensor its address.
  static void* base(ggml_backend_buffer_t buffer) { return of(buffer).kv_->keys(0); }
  static enum ggml_status init(ggml_backend_buffer_t buffer, ggml_tensor* tensor) {
    const bool placed = tried(of(buffer), [&] { of(buffer).place(*tensor); });
    return placed ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
  }
  static void fill(ggml_backend_buffer_t buffer, ggml_tensor* tensor, std::uint8_t value,
                   std::size_t offset, std::size_t bytes) {
    must_do(of(buffer), [&] {
      of(buffer).visit(*tensor, offset, bytes, true,
                       [&](std::byte* at) { std::memset(at, value, bytes); });
    });
  }
  static void set(ggml_backend_buffer_t buffer, ggml_tensor* tensor, const void* from,
                  std::size_t offset, std::size_t bytes) {
    must_do(of(buffer), [&] {
      of(buffer).visit(*tensor, offset, bytes, true,
                       [&](std::byte* at) { std::memcpy(at, from, bytes); });
    });
  }
  static void get(ggml_backend_buffer_t buffer, const ggml_tensor* tensor, void* to,
                  std::size_t offset, std::size_t bytes) {
    must_do(of(buffer), [&] {
      of(buffer).visit(*tensor, offset, bytes, false,
                       [&](const std::byte* at) { std::memcpy(to, at, bytes); });
    });
  }
  static void clear(ggml_backend_buffer_t buffer, std::uint8_t value) {
    must_do(of(buffer), [&] { of(buffer).clear(value); });
  }
};

// llama.cpp takes the cache's buffer before any other of a context.
ggml_backend_buffer_t KvDevice::allocate(std::size_t bytes) {
  if (!wanted_ || bytes == 0)
    return ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), bytes);
  if (kv_) throw Failure("another context has its KV cache on this device");
  wanted_ = false;
  const std::size_t plane_bytes = bytes / (std::size_t{2} * options_.layers);
  ggml_backend_buffer_i calls{};
  calls.free_buffer = Calls::free;
  calls.get_base = Calls::base;
  calls.init_tensor = Calls::init;
  calls.memset_tensor = Calls::fill;
  calls.set_tensor = Calls::set;
  calls.get_tensor = Calls::get;
  calls.clear = Calls::clear;
  kv_ = std::make_unique<LayeredKv>(runtime_, options_.layers, options_.frames, plane_bytes,
                                    options_.rows);
  return ggml_backend_buffer_init(&buffers_, calls, this, bytes);
}

KvDevice::KvDevice(Runtime& runtime, const Options& options)
    : runtime_(runtime), options_(options), registry_{}, device_{}, buffers_{} {
  registry_.api_version = GGML_BACKEND_API_VERSION;
  registry_.iface = {Calls::name, Calls::count_devices, Calls::device, Calls::function};
  registry_.context = this;
  device_.iface.get_name = Calls::name;
  device_.iface.get_description = Calls::describe;
  device_.iface.get_memory = Calls::memory;
  device_.iface.get_type = Calls::type;
  device_.iface.get_props = Calls::properties;
  device_.iface.init_backend = Calls::begin;
  device_.iface.get_buffer_type = Calls::buffer_type;
  device_.iface.supports_op = Calls::supports;
  device_.iface.supports_buft = Calls::supports;
  device_.reg = &registry_;
  device_.context = this;
  buffers_.iface.get_name = Calls::name;
  buffers_.iface.alloc_buffer = Calls::allocate;
  buffers_.iface.get_alignment = Calls::alignment;
  buffers_.iface.is_host = Calls::is_host;
  buffers_.device = &device_;
  buffers_.context = this;
}

KvDevice::~KvDevice() = default;

}  // namespace aqua::llama_example
