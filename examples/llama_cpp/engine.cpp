// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "hash.hpp"
#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;

namespace {

// llama.cpp tells much about itself; only what goes wrong is of interest here.
void log_errors(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

void start_llama_cpp() {
  llama_log_set(log_errors, nullptr);
  llama_backend_init();
}

llama_model* load(const std::filesystem::path& file, ggml_backend_dev_t device) {
  start_llama_cpp();
  llama_model_params params = llama_model_default_params();
  ggml_backend_dev_t devices[] = {device, nullptr};
  if (device != nullptr) params.devices = devices;
  params.n_gpu_layers = device != nullptr ? INT32_MAX : 0;
  llama_model* model = llama_model_load_from_file(file.c_str(), params);
  if (model == nullptr) throw Failure(file.string() + ": llama.cpp cannot load it");
  return model;
}

llama_model* make_model(gguf_context& metadata, llama_model_set_tensor_data_t place, void* with) {
  start_llama_cpp();
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  llama_model* model = llama_model_init_from_user(&metadata, place, with, params);
  if (model == nullptr) throw Failure("llama.cpp cannot make a model of these metadata");
  return model;
}

llama_context_params params_of(const Model& model, unsigned slots, unsigned tokens_per_slot,
                               unsigned threads) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = Engine::cache_tokens(slots, tokens_per_slot);
  params.n_seq_max = slots;
  params.n_batch = Engine::kChunkTokens;
  params.n_ubatch = Engine::kChunkTokens;
  params.n_threads = static_cast<std::int32_t>(threads);
  params.n_threads_batch = params.n_threads;
  params.kv_unified = false;
  // Values then lie token by token, as keys do; without it they are transposed.
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  params.offload_kqv = model.cache_on_device();
  params.no_perf = true;
  return params;
}

}  // namespace

std::filesystem::path model_file(const std::filesystem::path& named) {
  if (!named.empty()) return named;
  const char* variable =
      std::getenv("AQUA_LLAMA_MODEL");  // NOLINT(concurrency-mt-unsafe): at start
  if (variable == nullptr) throw Failure("no --model and no $AQUA_LLAMA_MODEL; see --help");
  return variable;
}

Model::Model(const std::filesystem::path& file, ggml_backend_dev_t device)
    : model_(load(file, device)), cache_on_device_(device != nullptr) {}

Model::Model(gguf_context& metadata, llama_model_set_tensor_data_t place, void* with,
             std::shared_ptr<const void> weights)
    : weights_(std::move(weights)),
      model_(make_model(metadata, place, with)),
      cache_on_device_(false) {}

std::string Model::description() const {
  char text[128] = {};
  (void)llama_model_desc(get(), text, sizeof text);
  return text;
}

std::vector<Token> Model::tokenize(const std::string& text) const {
  const llama_vocab* vocab = llama_model_get_vocab(get());
  std::vector<Token> tokens;
  const auto fill = [&] {
    return llama_tokenize(vocab, text.data(), static_cast<int>(text.size()), tokens.data(),
                          static_cast<int>(tokens.size()), true, true);
  };
  const int wanted = fill();  // none fits: minus as many as there are
  tokens.resize(static_cast<std::size_t>(std::abs(wanted)));
  const int count = fill();
  if (count < 0) throw Failure("llama_tokenize: " + std::to_string(count));
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

std::string Model::text_of(std::span<const Token> tokens) const {
  std::string text(tokens.size() * 32 + 64, '\0');
  const int bytes =
      llama_detokenize(llama_model_get_vocab(get()), tokens.data(), static_cast<int>(tokens.size()),
                       text.data(), static_cast<int>(text.size()), true, false);
  text.resize(static_cast<std::size_t>(std::max(bytes, 0)));
  return text;
}

unsigned Model::layers() const {
  return static_cast<unsigned>(llama_model_n_layer(get()));
}

unsigned Model::kv_heads() const {
  return static_cast<unsigned>(llama_model_n_head_kv(get()));
}

std::size_t Model::kv_bytes_per_token() const {
  const auto size = [](std::int32_t n) { return static_cast<std::size_t>(n); };
  const std::size_t head = size(llama_model_n_embd(get())) / size(llama_model_n_head(get()));
  return std::size_t{layers()} * kv_heads() * head * 2 * 2;
}

Engine::Engine(const Model& model, unsigned slots, unsigned tokens_per_slot, unsigned threads)
    : SlotStates(model.get(), params_of(model, slots, tokens_per_slot, threads)),
      slots_(slots),
      vocabulary_(
          static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model.get())))),
      batch_{},
      positions_(kChunkTokens),
      counts_(kChunkTokens, 1),
      sequence_of_(kChunkTokens, &sequence_),
      wanted_(kChunkTokens, 0),
      tokens_(kChunkTokens) {
  batch_.token = tokens_.data();
  batch_.pos = positions_.data();
  batch_.n_seq_id = counts_.data();
  batch_.seq_id = sequence_of_.data();
  batch_.logits = wanted_.data();
}

Prediction Engine::decode(unsigned slot, unsigned past, std::span<const Token> tokens) {
  sequence_ = static_cast<llama_seq_id>(slot);
  for (std::size_t at = 0; at < tokens.size();) {
    const auto count = std::min<std::size_t>(kChunkTokens, tokens.size() - at);
    std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(at), count, tokens_.begin());
    for (std::size_t i = 0; i < count; ++i) {
      positions_[i] = static_cast<llama_pos>(past + at + i);
      wanted_[i] = at + i + 1 == tokens.size() ? 1 : 0;
    }
    batch_.n_tokens = static_cast<std::int32_t>(count);
    const int outcome = llama_decode(context(), batch_);
    if (outcome != 0) throw Failure("llama_decode: " + std::to_string(outcome));
    at += count;
  }
  return predict();
}

Prediction Engine::predict() {
  const float* logits = llama_get_logits_ith(context(), -1);
  if (logits == nullptr) throw Failure("llama.cpp has no logits");
  const auto* best = std::max_element(logits, logits + vocabulary_);
  return {static_cast<Token>(best - logits),
          hash_bytes(std::as_bytes(std::span(logits, vocabulary_)))};
}

}  // namespace aqua::llama_example
