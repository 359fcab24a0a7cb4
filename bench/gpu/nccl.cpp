// SPDX-License-Identifier: Apache-2.0
#include "gpu/nccl.hpp"

#include <dlfcn.h>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::bench {
namespace {

constexpr int kBytes = 0;  // ncclInt8

}  // namespace

// As nccl.h declares them; communicators and streams are pointers to it too.
struct Nccl::Functions {
  int (*get_version)(int*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  int (*comm_init_all)(void** comms, int count, const int* gpus) = nullptr;
  int (*comm_destroy)(void* comm) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, void* comm, void* stream) = nullptr;
  int (*receive)(void*, std::size_t, int type, int peer, void* comm, void* stream) = nullptr;
};

Nccl::Nccl(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Nccl::~Nccl() {
  for (void* rank : ranks_) (void)functions_->comm_destroy(rank);
}

Result<std::unique_ptr<Nccl>> Nccl::load(const std::string& library) {
  void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return Error{Code::unavailable, concat("no NCCL: ", ::dlerror())};
  auto functions = std::make_unique<Functions>();
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(opened, name));
    if (function == nullptr) missing = name;
  };
  find(functions->get_version, "ncclGetVersion");
  find(functions->get_error_string, "ncclGetErrorString");
  find(functions->comm_init_all, "ncclCommInitAll");
  find(functions->comm_destroy, "ncclCommDestroy");
  find(functions->group_start, "ncclGroupStart");
  find(functions->group_end, "ncclGroupEnd");
  find(functions->send, "ncclSend");
  find(functions->receive, "ncclRecv");
  if (missing != nullptr)
    return Error{Code::unavailable, concat("no NCCL: ", library, " has no ", missing)};
  std::unique_ptr<Nccl> nccl(new Nccl(std::move(functions)));
  AQUA_TRY(nccl->done(nccl->functions_->get_version(&nccl->version_), "ncclGetVersion"));
  return nccl;
}

Result<void> Nccl::done(int result, const char* call) const {
  if (result == 0) return {};
  return Error{Code::internal, concat(call, ": ", functions_->get_error_string(result))};
}

Result<void> Nccl::join(std::span<const int> gpus) {
  std::vector<void*> ranks(gpus.size());
  AQUA_TRY(done(functions_->comm_init_all(ranks.data(), static_cast<int>(gpus.size()), gpus.data()),
                "ncclCommInitAll"));
  ranks_ = std::move(ranks);
  return {};
}

Result<void> Nccl::send(const std::byte* from, std::byte* to, std::size_t bytes, void* sender,
                        void* receiver) {
  const int last = static_cast<int>(ranks_.size()) - 1;
  AQUA_TRY(done(functions_->group_start(), "ncclGroupStart"));
  AQUA_TRY(done(functions_->send(from, bytes, kBytes, last, ranks_.front(), sender), "ncclSend"));
  AQUA_TRY(done(functions_->receive(to, bytes, kBytes, 0, ranks_.back(), receiver), "ncclRecv"));
  return done(functions_->group_end(), "ncclGroupEnd");
}

}  // namespace aqua::bench
