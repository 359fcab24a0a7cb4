// SPDX-License-Identifier: Apache-2.0
#include "slot_states.hpp"

#include <cstdint>
#include <string>

#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;

SlotStates::SlotStates(llama_model* model, const llama_context_params& params)
    : threads_(params.n_threads), context_(llama_init_from_model(model, params)) {
  if (!context_) throw Failure("llama.cpp cannot make a context for this model");
  llama_attach_threadpool(context(), threads_.get(), threads_.get());
}

std::size_t SlotStates::state_bytes(unsigned slot) {
  const auto bytes = llama_state_seq_get_size(context(), static_cast<llama_seq_id>(slot));
  if (bytes == 0) throw Failure("llama_state_seq_get_size: 0");
  return bytes;
}

void SlotStates::save(unsigned slot, std::span<std::byte> to) {
  const auto written =
      llama_state_seq_get_data(context(), reinterpret_cast<std::uint8_t*>(to.data()), to.size(),
                               static_cast<llama_seq_id>(slot));
  if (written != to.size()) throw Failure("llama_state_seq_get_data: " + std::to_string(written));
}

void SlotStates::restore(unsigned slot, std::span<const std::byte> from) {
  const auto read =
      llama_state_seq_set_data(context(), reinterpret_cast<const std::uint8_t*>(from.data()),
                               from.size(), static_cast<llama_seq_id>(slot));
  if (read != from.size()) throw Failure("llama_state_seq_set_data: " + std::to_string(read));
}

void SlotStates::drop(unsigned slot, unsigned from) {
  if (!llama_memory_seq_rm(llama_get_memory(context()), static_cast<llama_seq_id>(slot),
                           static_cast<llama_pos>(from), -1)) {
    throw Failure("llama_memory_seq_rm failed");
  }
}

}  // namespace aqua::llama_example
