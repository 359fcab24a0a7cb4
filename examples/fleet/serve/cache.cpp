// SPDX-License-Identifier: Apache-2.0
#include "serve/cache.hpp"

#include <chrono>
#include <cstring>
#include <type_traits>

#include "aqua/emulated.hpp"
#include "must.hpp"

namespace aqua::fleet {
namespace {

using namespace aqua::literals;
using example::must;

constexpr std::chrono::seconds kPatience{60};
// Without a keeper: for blocks that were just let go of, once the stream has come to that.
constexpr std::chrono::seconds kOwnPatience{1};

KvPoolOptions pool_options_of(const CacheOptions& options, const KvPoolShape& shape) {
  KvPoolOptions pool{.name = options.pool, .role = options.role, .shape = shape};
  const std::size_t bytes =
      std::size_t{shape.layers} * shape.planes_per_layer * shape.plane_block_bytes * shape.blocks;
  if (bytes < pool.slab_bytes) pool.slab_bytes = 2_MiB;
  pool.keeper = options.keeper;
  return pool;
}

// Its planes are where kernels see them.
Layout seen_by_kernels(LayoutSpec spec) {
  for (std::byte*& plane : spec.planes) plane = emulated::kernel_view(plane);
  return must(Layout::make(std::move(spec)), "layout");
}

LayoutSpec own_layout(const KvPoolShape& shape, const OwnBlocks& own) {
  return {.layers = shape.layers,
          .planes_per_layer = shape.planes_per_layer,
          .planes = own.planes(),
          .block_count = shape.blocks,
          .block_stride = shape.plane_block_bytes,
          .axes = BlockAxes::whole(shape.plane_block_bytes)};
}

}  // namespace

Cache::Cache(Runtime& runtime, const CacheOptions& options, Model& model)
    : runtime_(runtime),
      options_(options),
      model_(model),
      stream_(must(emulated::create_stream(runtime), "stream")) {
  if (!options.has_pool()) {
    const KvPoolShape shape = model.kv_shape(options.own_blocks);
    own_.emplace(runtime, std::size_t{shape.layers} * shape.planes_per_layer,
                 shape.plane_block_bytes, shape.blocks);
    own_layout_.emplace(must(Layout::make(own_layout(shape, *own_)), "layout"));
    compute_in(own_layout_->spec());
    if (!options.keeper.empty()) segments_.emplace(must(attach_segments(), "carrier"));
  } else {
    pool_options_ = pool_options_of(options, model.kv_shape(options.pool_blocks));
    pool_.emplace(must(KvPool::attach(runtime, *pool_options_), "pool"));
    compute_in(pool_->layout().spec());
  }
}

void Cache::compute_in(LayoutSpec spec) {
  layout_.emplace(seen_by_kernels(std::move(spec)));
  model_.use(*layout_);
}

// A parcel may be all that the engine has.
Result<SegmentCarrier> Cache::attach_segments() {
  return SegmentCarrier::attach(runtime_, *own_layout_,
                                {.name = options_.pool,
                                 .role = options_.role,
                                 .parcel_bytes = own_layout_->packed_bytes(options_.own_blocks),
                                 .keeper = options_.keeper});
}

Result<std::shared_ptr<Carrier>> Cache::attach() {
  const auto shared = [](auto joined) -> Result<std::shared_ptr<Carrier>> {
    if (!joined.ok()) return std::move(joined).error();
    using Joined = std::remove_cvref_t<decltype(joined.value())>;
    return std::shared_ptr<Carrier>(std::make_shared<Joined>(std::move(joined).value()));
  };
  return options_.has_pool() ? shared(KvPool::attach(runtime_, *pool_options_))
                             : shared(attach_segments());
}

void Cache::rejoin(KvPool next, const Blocks& from, const Blocks& to) {
  copy(layout_->spec(), from, seen_by_kernels(next.layout().spec()).spec(), to);
  pool_ = std::move(next);
  compute_in(pool_->layout().spec());
}

void Cache::copy(const LayoutSpec& from_layout, const Blocks& from, const LayoutSpec& to_layout,
                 const Blocks& to) {
  auto kernel = [&] {
    for (std::size_t plane = 0; plane < from_layout.planes.size(); ++plane) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        std::memcpy(to_layout.planes[plane] + to[i] * to_layout.block_stride,
                    from_layout.planes[plane] + from[i] * from_layout.block_stride,
                    layout_->plane_block_bytes());
      }
    }
  };
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "copy");
  must(emulated::synchronize(runtime_, stream_), "copy");
}

Cache::~Cache() {
  (void)emulated::destroy_stream(runtime_, stream_);
}

std::optional<Blocks> Cache::try_take(std::size_t count) {
  if (count == 0) return Blocks{};
  if (own_) {
    auto taken = own_->take(count);
    if (!taken) throw example::Failure("blocks: more than this engine has");
    return *std::move(taken);
  }
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    auto blocks = pool_->allocate(count);
    if (blocks.ok()) return std::move(blocks).value();
    const auto waited = std::chrono::steady_clock::now() - begun;
    if (!pool_->is_connected() && waited > kOwnPatience) return std::nullopt;
    if (waited > kPatience) throw example::failure("blocks", blocks.error());
    // More are asked for in the background, and come within a round trip to the keeper. The watch
    // may take the news of it.
    (void)pool_->wait(std::chrono::milliseconds(5));
  }
}

void Cache::release(const Blocks& blocks) {
  if (blocks.empty()) return;
  if (own_) return own_->release(blocks);
  must(pool_->release(blocks, stream_), "release");
}

std::optional<std::uint32_t> Cache::copy_of(std::uint32_t block) {
  const std::optional<Blocks> taken = try_take(1);
  if (!taken) return std::nullopt;
  copy(layout_->spec(), {block}, layout_->spec(), *taken);
  return taken->front();
}

std::vector<Token> Cache::compute(std::span<const Work> work) {
  std::vector<Token> wanted;
  std::string why;
  auto kernel = [this, work, &wanted, &why] {
    try {
      wanted = model_.compute(work);
    } catch (const example::Failure& failure) {
      why = failure.what();
    }
  };
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "launch");
  must(emulated::synchronize(runtime_, stream_), "kernel");
  if (!why.empty()) throw example::Failure(why);
  return wanted;
}

}  // namespace aqua::fleet
