// SPDX-License-Identifier: Apache-2.0
// What --help says beside the options themselves. Lines of at most 80 columns.
#pragma once

namespace allot::tools {

inline constexpr char top_text[] =
    "Allot before you alloc: plans the GPU memory of LLM inference engines.";
inline constexpr char top_footer[] =
    "`allot COMMAND --help` lists the options of a command.\n"
    "\n"
    "Exit status: 0 it fits (solve, verify: every line was answered), 1 it does not\n"
    "fit (verify: what was planned could not be allocated), 2 the input is wrong (an\n"
    "option, a model, a request). doctor: 0.";
inline constexpr char plan_text[] =
    "Says whether MODEL fits one GPU, and how its memory is best split between the\n"
    "KV cache, recurrent states and a cache of experts.";
inline constexpr char plan_footer[] =
    "BYTES are plain bytes or a number with KiB, MiB, GiB, TiB (powers of 1024) or\n"
    "kB, MB, GB, TB (powers of 1000), rounded to the nearest byte: 24GiB, 1.5GB,\n"
    "25769803776. TOKENS are plain or with k (1024) or M (1024 k): 8192, 32k, 128K.\n"
    "\n"
    "Colours are used on a terminal only, and never when NO_COLOR is set.\n"
    "Exit status: 0 it fits, 1 it does not fit, 2 the input is wrong.\n"
    "\n"
    "Example: a 35B mixture of experts on a 24 GiB card, 32k tokens at least\n"
    "  allot plan Qwen3.6-35B-A3B/config.json --free 23.5GiB --weights 4GiB \\\n"
    "    --context 32k --expert-format nvfp4 --charge workspace=512MiB";
inline constexpr char solve_text[] =
    "Answers solve requests: JSON Lines in, one JSON answer a line out, in order.";
inline constexpr char solve_footer[] =
    "A refusal is an answer. Exit status: 0 when every line was answered, 2 when a\n"
    "line was not a request (its answer says where and why; the rest is answered).\n"
    "\n"
    "Example\n"
    "  echo '{\"budget\":{\"bytes\":1073741824},\"kv\":[{\"family\":\"mla\",\"layers\":61,\n"
    "    \"latent_dim\":576,\"dtype\":\"bf16\"}]}' | tr -d '\\n' | allot solve";

inline constexpr char verify_text[] =
    "Allocates what `allot solve` plans, in an arena of what the budget leaves beside\n"
    "the charges, writes to both ends of every array, and answers what it took.";
inline constexpr char verify_footer[] =
    "Takes the lines of `allot solve`; the granularity is at least what allocations\n"
    "are aligned to (256 bytes). A plan is answered by {id, ok, planned_bytes,\n"
    "carved_bytes, peak_bytes}, a refusal as `allot solve` answers it. Host memory is\n"
    "only reserved, not filled: 80 GiB can be verified on a small machine.\n"
    "\n"
    "Exit status: 0 when every line was answered, 1 when a plan could not be\n"
    "allocated, 2 when a line was not a request or the device cannot be used.\n"
    "\n"
    "Example\n"
    "  allot verify --device requests.jsonl";

inline constexpr char doctor_text[] =
    "Says what this machine offers to plans and to the runtime: memory of the host,\n"
    "GPUs and what is free of them, and the attention kernels of this allot.";
inline constexpr char doctor_footer[] =
    "Looks, and changes nothing. Where a GPU is used for the first time it keeps some\n"
    "of its memory until the command ends.\n"
    "\n"
    "Colours are used on a terminal only, and never when NO_COLOR is set.\n"
    "Exit status: 0, with a GPU or without; 2 the input is wrong.";

inline constexpr char command_list[] =
    "\nCommands:\n"
    "  plan MODEL --free BYTES   does a model fit one GPU, and how is it split?\n"
    "  solve [FILE]              answer solve requests, JSON Lines in and out\n"
    "  verify [FILE]             allocate what solve plans, and measure it\n"
    "  doctor                    what do this machine and this allot offer?\n";

}  // namespace allot::tools
