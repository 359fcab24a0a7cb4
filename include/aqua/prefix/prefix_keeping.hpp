// SPDX-License-Identifier: Apache-2.0
// How a PrefixCache (aqua/prefix/prefix_cache.hpp) keeps its blocks beyond its process: it copies
// them behind the engine into segments of the keeper's (aqua/handoff/segments.hpp), and the next
// cache of the same name and shape begins with what it finds there. A keeper that has a disk
// (aqua-keeper --disk) has them after its own death and after a power cut, too.
//
// What is kept may be lost at any time: a block that is not there is computed again.
//
// Threads: plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace aqua {

struct PrefixKeeping {
  // Names one rank of one engine, whose cache another process takes on after it. 1 to 64
  // letters, digits, '-' and '_'. What lies under this name and is of another shape is dropped. Of
  // two that run at once under one name each drops what the other keeps; no byte of either is wrong
  // for it.
  std::string name{};
  // Names model, adapter, dtype and this rank's part of the KV, in 1 to 1,024 bytes. The sizes of
  // blocks are added to it, and the layout that create() is given. With PrefixCopies it is given
  // none: how the bytes lie in a tensor then belongs into this text. Bytes are never read into
  // another shape.
  std::string shape{};
  // The most bytes of segments with blocks at the keeper: host memory, and as much of its disk. A
  // prompt takes whole segments, so that less than segment_bytes keeps nothing. What finds no room
  // is not kept. The list of the latest prompts takes a segment more, and two while it is written
  // anew.
  std::size_t max_bytes = std::size_t{4} << 30;
  // Size of a segment, into which blocks of one prompt go as far as it has room. One block at
  // least. Two are kept ready, in memory of the keeper's.
  std::size_t segment_bytes = std::size_t{64} << 20;
  // The keeper's socket, as SegmentsOptions::keeper. Where there are replicas or a mirror let the
  // cache have a keeper of its own: a mirror copies what is kept here, and readers of replicas list
  // and open it.
  std::string keeper{};
  // How long create() may take to open what the keeper has. What is not open then is a miss.
  std::chrono::milliseconds patience{10'000};
};

struct PrefixKept {
  // To the keeper. Once false it stays so: the cache serves what it has, and keeps nothing more.
  bool connected = false;
  std::string error{};           // why not, or why something was not kept last
  std::size_t found_blocks = 0;  // by create()
  std::size_t refused = 0;       // segments of this name that create() could not use, and dropped
  std::size_t blocks = 0;        // kept now
  std::size_t bytes = 0;         // of the segments that have them or are being written
  std::size_t waiting = 0;       // prompts with blocks that are to be written
  std::uint64_t given_up = 0;    // prompts of which blocks were not kept for want of room or time
};

}  // namespace aqua
