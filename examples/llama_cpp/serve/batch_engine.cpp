// SPDX-License-Identifier: Apache-2.0
#include "batch_engine.hpp"

#include <algorithm>
#include <string>

#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;

namespace {

llama_context_params params_of(unsigned slots, unsigned cache_tokens, unsigned batch_tokens,
                               unsigned threads) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = cache_tokens;
  params.n_seq_max = slots;
  params.n_batch = std::max(batch_tokens, slots);  // llama.cpp refuses fewer than sequences
  params.n_ubatch = params.n_batch;                // one pass a batch
  params.n_threads = static_cast<std::int32_t>(threads);
  params.n_threads_batch = params.n_threads;
  params.kv_unified = true;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  params.offload_kqv = false;
  params.no_perf = true;
  return params;
}

}  // namespace

BatchEngine::BatchEngine(const Model& model, unsigned slots, unsigned cache_tokens,
                         unsigned batch_tokens, unsigned threads)
    : SlotStates(model.get(), params_of(slots, cache_tokens, batch_tokens, threads)),
      vocabulary_(
          static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model.get())))),
      most_tokens_(batch_tokens),
      batch_(batch_tokens) {}

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
  const int outcome = llama_decode(context(), batch_.raw);
  if (outcome != 0) throw Failure("llama_decode: " + std::to_string(outcome));
  std::vector<Token> next;
  for (const std::int32_t at : wanted_) {
    const float* logits = llama_get_logits_ith(context(), at);
    if (logits == nullptr) throw Failure("llama.cpp has no logits");
    next.push_back(static_cast<Token>(std::max_element(logits, logits + vocabulary_) - logits));
  }
  return next;
}

}  // namespace aqua::llama_example
