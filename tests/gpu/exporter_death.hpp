// SPDX-License-Identifier: Apache-2.0
// What the two processes of exporter_death agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace aqua::gpu {

inline constexpr std::uint32_t kExporterSeed = 1;
inline constexpr std::uint32_t kImporterSeed = 2;

struct Question {
  std::string device = "cuda:0";  // or emu:0, which only tries the program
  std::size_t bytes = std::size_t{64} << 20;
};

[[nodiscard]] Result<std::unique_ptr<device::Device>> open(const Question& question);

// Bytes that a seed gives in every process.
[[nodiscard]] std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t seed);

// A slab mapped alone; copies between it and host memory, finished on return.
struct Mapped {
  std::unique_ptr<device::AddressRange> range;
  [[nodiscard]] static Result<Mapped> make(device::Device& device, const device::Slab& slab);
};
[[nodiscard]] Result<void> write(device::Device& device, Mapped& to,
                                 const std::vector<std::byte>& bytes);
[[nodiscard]] Result<std::vector<std::byte>> read(device::Device& device, const Mapped& from);

// The process that will be killed: lends a slab over test::kPeerSocket and stays.
[[nodiscard]] Result<void> be_exporter(const Question& question);

struct Answer {
  std::string device, driver;
  bool readable = false;    // after the exporter's death: its bytes, all of them
  bool writable = false;    // bytes written after it came back
  bool kept_apart = false;  // memory allocated and filled after it was other memory
  bool returned = false;    // unmapped, its bytes were the GPU's again; not asked of emu:N
  std::string error{};      // what failed, where something did
  [[nodiscard]] bool good() const { return readable && writable && kept_apart && returned; }
};
// Spawns an exporter, imports, kills it and looks. An error where it could not be tried.
[[nodiscard]] Result<Answer> ask(const Question& question);

}  // namespace aqua::gpu
