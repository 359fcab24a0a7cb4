// SPDX-License-Identifier: Apache-2.0
// PrefixCache: blocks that the keeper has, too.
#include "base/try.hpp"
#include "systems/prefix/act/prefix_cache_impl.hpp"

namespace aqua {

std::string PrefixCache::Impl::shape_of(const Layout& layout) {
  const LayoutSpec& spec = layout.spec();
  std::string text = concat("; ", spec.layers, " layers of ", spec.planes_per_layer, " planes");
  for (const BlockAxis& axis : {spec.axes.tokens, spec.axes.heads, spec.axes.runs}) {
    text += concat(", ", axis.count, " at ", axis.count > 1 ? axis.stride : 0);
  }
  return text + concat(", of ", spec.axes.run_bytes, " bytes");
}

Result<void> PrefixCache::Impl::keep(const PrefixKeeping& keeping, std::string layout) {
  AQUA_ASSIGN(kept_, KeptPrefixes::open(runtime_, keeping,
                                        {.block_tokens = options_.index.block_tokens,
                                         .engine_block_tokens = options_.engine_block_tokens,
                                         .engine_block_bytes = copies_.block_bytes,
                                         .layout = std::move(layout)}));
  for (const BlockHash& block : kept_->restore(index_)) tensors_.try_emplace(block);
  return {};
}

Result<Ticket> PrefixCache::Impl::bring(const BlockHash& block, Stream stream) {
  if (!kept_) return Error{Code::not_found, "prefix cache: the block has no bytes"};
  AQUA_ASSIGN(const std::size_t bytes, kept_->ready(block));
  AQUA_ASSIGN(AquaTensor tensor, allocate_block(bytes, false));
  AQUA_ASSIGN(Ticket copy, kept_->read(block, tensor, stream));
  AQUA_TRY(put(block, std::move(tensor), false));
  return copy;
}

bool PrefixCache::Impl::write_behind(std::chrono::milliseconds patience) {
  const auto tensor_of = [this](const BlockHash& block) -> AquaTensor* {
    const auto found = tensors_.find(block);
    return found != tensors_.end() && found->second.has_bytes() ? &found->second.tensor : nullptr;
  };
  return kept_ != nullptr && kept_->write_behind(tensor_of, patience);
}

}  // namespace aqua
