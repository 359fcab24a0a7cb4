// SPDX-License-Identifier: Apache-2.0
// From the options of `aqua profile` to what tools/profiler runs.
#pragma once

#include "tools/cli/profile/profile_options.hpp"
#include "tools/profiler/load/engine_link.hpp"
#include "tools/profiler/search/prober.hpp"
#include "tools/profiler/search/record.hpp"
#include "tools/sim/input/trace.hpp"

namespace aqua::tool {

// Asks the engine for its model where none is given; sets what --context leaves open.
// `stop` ends whatever is asked over the link.
[[nodiscard]] Result<profiler::EngineLink> link_of(ProfileOptions& options,
                                                   const std::stop_token& stop);
[[nodiscard]] Result<profiler::ProberOptions> prober_of(const ProfileOptions& options,
                                                        const profiler::EngineLink& engine);
// A new one, or with --resume the file's: not_found when there is none, failed_precondition when
// it was made with other settings.
[[nodiscard]] Result<profiler::Record> record_of(const ProfileOptions& options,
                                                 const profiler::EngineLink& engine,
                                                 const profiler::ProberOptions& prober);
// What --prefix-prompts and --long-prompt ask for.
void size_swap(profiler::Record& record, const ProfileOptions& options, const sim::Trace& trace,
               double pool_bytes);
// For people.
[[nodiscard]] std::string summary(const profiler::Record& record, const ProfileOptions& options);

}  // namespace aqua::tool
