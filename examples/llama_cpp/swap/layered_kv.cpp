// SPDX-License-Identifier: Apache-2.0
#include "layered_kv.hpp"

#include <exception>
#include <string>
#include <thread>

#include "must.hpp"

namespace aqua::llama_example {
namespace {

using example::must;

LayerPool make_pool(Runtime& runtime, std::uint32_t layers, std::uint32_t frames,
                    std::size_t plane_bytes, std::uint64_t rows) {
  if (rows % LayeredKv::kBlockTokens != 0)
    throw example::Failure("a KV cache of " + std::to_string(rows) + " rows is no whole blocks");
  return must(
      LayerPool::create(runtime, {.layers = layers,
                                  .planes_per_layer = 2,
                                  .block_bytes = plane_bytes / rows * LayeredKv::kBlockTokens,
                                  .device_bytes = frames * LayeredKv::frame_bytes(plane_bytes),
                                  .frames = frames,
                                  .name = "llama.cpp's KV cache"}),
      "layer pool");
}

}  // namespace

LayeredKv::LayeredKv(Runtime& runtime, std::uint32_t layers, std::uint32_t frames,
                     std::size_t plane_bytes, std::uint64_t rows)
    : runtime_(runtime),
      layers_(layers),
      plane_bytes_(plane_bytes),
      rows_(rows),
      pool_(make_pool(runtime, layers, frames, plane_bytes, rows)),
      stream_(must(emulated::create_stream(runtime), "stream")) {}

LayeredKv::~LayeredKv() {
  (void)emulated::destroy_stream(runtime_, stream_);
}

std::vector<std::uint32_t> LayeredKv::blocks_of(const std::vector<RowRange>& ranges) const {
  std::vector<bool> named(rows_ / kBlockTokens);
  for (const RowRange& range : ranges) {
    for (std::uint64_t row = range.begin / kBlockTokens * kBlockTokens; row < range.end;
         row += kBlockTokens) {
      named.at(row / kBlockTokens) = true;
    }
  }
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t block = 0; block < named.size(); ++block) {
    if (named[block]) blocks.push_back(block);
  }
  return blocks;
}

void LayeredKv::begin_pass(const std::vector<RowRange>& reads,
                           const std::vector<RowRange>& writes) {
  must(pool_.begin_step(stream_, blocks_of(reads), blocks_of(writes)), "begin_step");
  within_pass_ = true;
}

void LayeredKv::on_layer(std::uint32_t layer, const std::function<void()>& work) {
  if (!within_layer_) must(pool_.begin_layer(layer), "begin_layer");
  within_layer_ = true;
  run(work);
}

void LayeredKv::end_layer(std::uint32_t layer) {
  must(pool_.end_layer(layer), "end_layer");
  within_layer_ = false;
  if (layer + 1 < layers_) return;
  within_pass_ = false;
  const std::uint64_t step = must(pool_.end_step(), "end_step");
  while (!must(pool_.step_done(step), "step_done")) std::this_thread::yield();
}

void LayeredKv::pass(const std::vector<RowRange>& reads, const std::vector<RowRange>& writes,
                     const std::function<void(std::uint32_t layer)>& work) {
  begin_pass(reads, writes);
  for (std::uint32_t layer = 0; layer < layers_; ++layer) {
    on_layer(layer, [&] { work(layer); });
    end_layer(layer);
  }
}

void LayeredKv::run(const std::function<void()>& work) {
  std::exception_ptr thrown;
  const auto kernel = [&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  must(emulated::launch(runtime_, stream_, kernel), "launch");
  must(emulated::synchronize(runtime_, stream_), "kernel");
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace aqua::llama_example
