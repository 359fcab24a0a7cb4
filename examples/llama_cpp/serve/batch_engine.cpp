// SPDX-License-Identifier: Apache-2.0
#include "batch_engine.hpp"

#include <algorithm>
#include <string>

#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;

BatchEngine::BatchEngine(const Model& model, unsigned slots, unsigned cache_tokens,
                         unsigned batch_tokens, unsigned threads)
    : vocabulary_(
          static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model.get())))),
      most_tokens_(batch_tokens),
      batch_(batch_tokens) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = cache_tokens;
  params.n_seq_max = slots;
  params.n_batch = batch_tokens;
  params.n_ubatch = batch_tokens;  // one pass a batch
  params.n_threads = static_cast<std::int32_t>(threads);
  params.n_threads_batch = params.n_threads;
  params.kv_unified = true;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  params.offload_kqv = false;
  params.no_perf = true;
  context_.reset(llama_init_from_model(model.get(), params));
  if (!context_) throw Failure("llama.cpp cannot make a context for this model");
}

void BatchEngine::begin() {
  batch_.raw.n_tokens = 0;
  wanted_.clear();
}

void BatchEngine::add(unsigned slot, unsigned past, std::span<const Token> tokens, bool wants) {
  llama_batch& batch = batch_.raw;
  if (static_cast<std::size_t>(batch.n_tokens) + tokens.size() > most_tokens_) {
    throw Failure("a batch of more than " + std::to_string(most_tokens_) + " tokens");
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int32_t at = batch.n_tokens++;
    batch.token[at] = tokens[i];
    batch.pos[at] = static_cast<llama_pos>(past + i);
    batch.n_seq_id[at] = 1;
    batch.seq_id[at][0] = static_cast<llama_seq_id>(slot);
    batch.logits[at] = wants && i + 1 == tokens.size() ? 1 : 0;
  }
  if (wants) wanted_.push_back(batch.n_tokens - 1);
}

std::vector<Token> BatchEngine::run() {
  const int outcome = llama_decode(context_.get(), batch_.raw);
  if (outcome != 0) throw Failure("llama_decode: " + std::to_string(outcome));
  std::vector<Token> next;
  for (const std::int32_t at : wanted_) {
    const float* logits = llama_get_logits_ith(context_.get(), at);
    if (logits == nullptr) throw Failure("llama.cpp has no logits");
    next.push_back(static_cast<Token>(std::max_element(logits, logits + vocabulary_) - logits));
  }
  return next;
}

std::vector<std::byte> BatchEngine::save(unsigned slot) {
  const auto id = static_cast<llama_seq_id>(slot);
  std::vector<std::byte> state(llama_state_seq_get_size(context_.get(), id));
  const auto written = llama_state_seq_get_data(
      context_.get(), reinterpret_cast<std::uint8_t*>(state.data()), state.size(), id);
  if (written == 0 || written != state.size()) {
    throw Failure("llama_state_seq_get_data: " + std::to_string(written));
  }
  return state;
}

void BatchEngine::restore(unsigned slot, std::span<const std::byte> from) {
  const auto read =
      llama_state_seq_set_data(context_.get(), reinterpret_cast<const std::uint8_t*>(from.data()),
                               from.size(), static_cast<llama_seq_id>(slot));
  if (read != from.size()) throw Failure("llama_state_seq_set_data: " + std::to_string(read));
}

void BatchEngine::drop(unsigned slot) {
  if (!llama_memory_seq_rm(llama_get_memory(context_.get()), static_cast<llama_seq_id>(slot), -1,
                           -1)) {
    throw Failure("llama_memory_seq_rm failed");
  }
}

}  // namespace aqua::llama_example
