// SPDX-License-Identifier: Apache-2.0
// Owners of what ggml hands out.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <gguf.h>

#include <memory>

namespace aqua::prefill_decode {

struct FreeGgml {
  void operator()(ggml_context* context) const { ggml_free(context); }
  void operator()(gguf_context* file) const { gguf_free(file); }
  void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
  void operator()(ggml_gallocr* allocator) const { ggml_gallocr_free(allocator); }
};
using GgmlContext = std::unique_ptr<ggml_context, FreeGgml>;
using GgufFile = std::unique_ptr<gguf_context, FreeGgml>;
using GgmlBackend = std::unique_ptr<ggml_backend, FreeGgml>;
using GgmlAllocator = std::unique_ptr<ggml_gallocr, FreeGgml>;

}  // namespace aqua::prefill_decode
