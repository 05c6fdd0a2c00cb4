// SPDX-License-Identifier: Apache-2.0
// The memory of a small engine, from description to serving: what a boot and one step look like.
//
//     engine            in host memory
//     engine --device   on the first GPU (a library built with CUDA)
#include <allot/allot.hpp>
#include <allot/describe.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/block_table.hpp>
#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_resources.hpp>
#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/limited_resource.hpp>
#include <allot/runtime/page_allocator.hpp>
#include <allot/runtime/slot_mapping.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

using namespace allot;

namespace {

constexpr std::int64_t most_requests = 64;
constexpr tokens longest{4096};
constexpr gqa attention{.layers = 4, .kv_heads = 2, .head_dim = 64, .page_tokens = 16};

// Everything on the card in one table: the rows of a page lie together, expert slots fill from the
// top, and the tables that kernels read are priced like the rest.
constexpr auto table = make_table<arrangement::page_major>(
    attention, expert_bank{.slot_bytes = 256_KiB, .per_layer = 16, .layers = 4},
    charge{"block tables",
           *runtime::block_table::bytes_for(attention.paging(), most_requests, longest)});

/// Where it runs.
struct card {
  std::unique_ptr<runtime::memory_resource> memory;
  std::unique_ptr<runtime::memory_resource> staging;  // what uploads are read from
  std::unique_ptr<runtime::backend> work;
};

card host_card() {
  return {std::make_unique<runtime::host_resource>(), std::make_unique<runtime::host_resource>(),
          std::make_unique<runtime::host_backend>()};
}

card cuda_card() {
  return {std::make_unique<runtime::device_resource>(),
          std::make_unique<runtime::pinned_resource>(), std::make_unique<runtime::cuda_backend>()};
}

void serve(card const& on, bytes budget) {
  // Solve, and allocate what was solved: one call, carved as it was priced or it throws.
  outcome const solved =
      solve(table.with_granularity(on.memory->alignment()), budget, {.min_tokens = longest});
  if (!solved) {
    std::printf("no plan: %s\n", describe(solved.error).c_str());
    for (std::int32_t i = 0; i < solved.error.repair_count; ++i) {
      std::printf("  or %s\n", describe(solved.error.repairs[i]).c_str());
    }
    return;
  }
  plan const& p = *solved;
  runtime::limited_resource memory{*on.memory, budget.count};  // not one byte more than was planned
  runtime::arena const arena{table.with_granularity(on.memory->alignment()), p, memory};
  auto const kv =
      arena.view<std::uint16_t>(arena.find("gqa", "rows"));  // [layers, pages, 1, elements]
  std::printf("%lld pages and %lld expert slots in %lld bytes on %s\n",
              static_cast<long long>(p.pages.count), static_cast<long long>(p.slots.count),
              static_cast<long long>(arena.allocated_bytes().count), on.memory->name().c_str());

  runtime::page_allocator pages{attention.paging(), p.pages};
  runtime::block_table blocks{memory, *on.staging, *on.work, pages.pool(), most_requests, longest};
  runtime::slot_mapping mapping{blocks};

  // Two requests with a common prompt of 40 tokens share its three pages, the last one half full.
  tokens const prompt{40};
  if (!pages.can_serve(prompt, tokens{100})) { return; }
  std::vector<runtime::page_id> prefix(
      static_cast<std::size_t>(attention.paging().pages_for(prompt).count));
  if (!pages.allocate(prefix) || !pages.share(prefix)) { return; }
  for (std::int64_t row = 0; row < 2; ++row) {
    if (!blocks.assign(row, prefix, prompt)) { return; }
  }

  // The second one writes first: it gets a page of its own, and the rows that are in it.
  auto const own = pages.make_writable(prefix.back());
  if (!own) { return; }
  if (own->copy_from != runtime::no_page) {
    for (std::int64_t layer = 0; layer < kv.copies(); ++layer) {
      on.work->copy(kv.row(layer, own->page), kv.row(layer, own->copy_from), kv.row_elements() * 2);
    }
  }
  if (!blocks.replace(1, 2, own->page)) { return; }

  // One step: both append a token, padded to the batch of four that was captured.
  std::vector<runtime::appended_tokens> const step{{0, 1}, {1, 1}};
  std::vector<std::int64_t> slots(4);
  if (!mapping.fill(step, slots)) { return; }
  blocks.upload();
  on.work->wait();
  std::printf("slots of this step: %lld %lld %lld %lld\n", static_cast<long long>(slots[0]),
              static_cast<long long>(slots[1]), static_cast<long long>(slots[2]),
              static_cast<long long>(slots[3]));
}

}  // namespace

int main(int argc, char** argv) {
  bool const device = argc > 1 && std::string_view{argv[1]} == "--device";
  try {
    serve(device ? cuda_card() : host_card(), 24_MiB);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "engine: %s\n", error.what());
    return 1;
  }
  return 0;
}
