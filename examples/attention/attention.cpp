// SPDX-License-Identifier: Apache-2.0
// One request on a small model with one layer: its prompt is appended and prefilled, then it
// decodes a token at a time. What attention needs is in the plan: its workspace is a charge.
//
//     attention            on the CPU
//     attention --device   on the first GPU (a library built with CUDA)
#include <allot/allot.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/attention.hpp>
#include <allot/runtime/block_table.hpp>
#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_resources.hpp>
#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/kv_cache_view.hpp>
#include <allot/runtime/page_allocator.hpp>
#include <allot/runtime/slot_mapping.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

using namespace allot;

namespace {

constexpr std::int64_t query_heads = 8;
constexpr gqa family{.layers = 1, .kv_heads = 2, .head_dim = 64, .page_tokens = 16};
constexpr tokens longest{1024};
// Fewer parts than `split_for` says are as right, and more leave some empty.
constexpr split_kv most_split{.requests = 1, .parts = 1024};

constexpr auto table = make_table<arrangement::page_major>(
    family, charge{"block table", *runtime::block_table::bytes_for(family.paging(), 1, longest)},
    charge{"decode workspace", *decode_workspace_bytes(most_split, query_heads, family.head_dim)});

/// bf16 of a number that has few bits.
std::uint16_t bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}
float number(std::uint16_t bf16_bits) {
  std::uint32_t const bits = std::uint32_t{bf16_bits} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Rows of heads, one behind the other.  // [rows, heads, head_dim]
head_rows<std::byte> rows_at(std::byte* data, std::int64_t heads) {
  return {data, heads * family.head_dim * 2, family.head_dim * 2, element::bf16};
}

void serve(runtime::memory_resource& memory, runtime::memory_resource& staging,
           runtime::backend& work) {
  auto const p = solve(table, 32_MiB, {.min_tokens = longest});
  if (!p) { return; }
  runtime::arena const arena{table, *p, memory};
  runtime::page_allocator pages{family.paging(), p->pages};
  runtime::block_table blocks{memory, staging, work, pages.pool(), 1, longest};
  runtime::slot_mapping mapping{blocks};
  kv_cache const layer =
      runtime::view_layer(arena, arena.find("gqa", "rows"), kv_page_of(family), pages.pool(), 0);

  runtime::attention const attend{work};
  split_kv split = attend.split_for(1, layer.heads);
  if (split.parts > most_split.parts) { split.parts = most_split.parts; }
  std::int64_t const workspace_bytes =
      (*decode_workspace_bytes(split, query_heads, family.head_dim)).count;
  runtime::buffer const workspace{memory, workspace_bytes};

  // A prompt of 40 tokens whose V says which token it is of, then tokens one by one.
  std::int64_t const prompt = 40;
  std::int64_t const kv_row = layer.heads * family.head_dim;
  std::int64_t const q_row = query_heads * family.head_dim;
  auto const bytes_of_rows = [](std::int64_t rows, std::int64_t elements) {
    return rows * elements * 2;
  };
  runtime::buffer const k{memory, bytes_of_rows(prompt, kv_row)};
  runtime::buffer const v{memory, bytes_of_rows(prompt, kv_row)};
  runtime::buffer const q{memory, bytes_of_rows(prompt, q_row)};
  runtime::buffer const out{memory, bytes_of_rows(prompt, q_row)};
  runtime::buffer const slots{memory, prompt * 8};
  runtime::buffer const q_start{memory, 8};
  work.fill(k.data(), std::byte{0}, k.bytes());  // keys of 0: every token weighs the same
  work.fill(q.data(), std::byte{0}, q.bytes());

  std::int64_t length = 0;
  std::vector<std::uint16_t> values(static_cast<std::size_t>(prompt * kv_row));
  std::vector<std::int64_t> host_slots(static_cast<std::size_t>(prompt));
  auto const step = [&](std::int64_t count) {
    while (blocks.capacity(0).count < length + count) {
      auto const page = pages.allocate();
      if (!page || !blocks.append(0, *page)) { return false; }
    }
    std::vector<runtime::appended_tokens> const appended{{0, count}};
    if (!mapping.fill(appended, host_slots)) { return false; }
    for (std::int64_t t = 0; t < count * kv_row; ++t) {
      values[static_cast<std::size_t>(t)] = bf16(static_cast<float>(length + t / kv_row));
    }
    work.upload(v.data(), values.data(), bytes_of_rows(count, kv_row));
    work.upload(slots.data(), host_slots.data(), count * 8);
    length += count;
    if (!blocks.set_kv_len(0, tokens{length})) { return false; }
    blocks.upload();

    attend.append({.cache = layer,
                   .k = rows_at(k.data(), layer.heads).as_const(),
                   .v = rows_at(v.data(), layer.heads).as_const(),
                   .slots = reinterpret_cast<std::int64_t const*>(slots.data()),
                   .tokens = static_cast<std::int32_t>(count)});
    kv_tables const tables = runtime::tables_of(blocks, 1);
    if (count > 1) {
      std::int32_t const starts[] = {0, static_cast<std::int32_t>(count)};
      work.upload(q_start.data(), starts, sizeof starts);
      attend.prefill({.cache = layer,
                      .tables = tables,
                      .q_start = reinterpret_cast<std::int32_t const*>(q_start.data()),
                      .q = rows_at(q.data(), query_heads).as_const(),
                      .out = rows_at(out.data(), query_heads),
                      .query_rows = static_cast<std::int32_t>(count),
                      .query_heads = query_heads});
      work.wait();  // `starts` is read until then
    } else {
      attend.decode({.cache = layer,
                     .tables = tables,
                     .q = rows_at(q.data(), query_heads).as_const(),
                     .out = rows_at(out.data(), query_heads),
                     .split = split,
                     .workspace = workspace.data(),
                     .workspace_bytes = workspace.bytes(),
                     .query_heads = query_heads});
    }
    std::uint16_t last = 0;
    work.download(&last, out.data() + bytes_of_rows(count - 1, q_row), 2);
    work.wait();
    std::printf("%3lld tokens: the mean of their numbers is %g\n", static_cast<long long>(length),
                static_cast<double>(number(last)));
    return true;
  };
  for (std::int64_t const count : {prompt, std::int64_t{1}, std::int64_t{1}}) {
    if (!step(count)) { return; }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string_view{argv[1]} == "--device") {
      runtime::device_resource memory;
      runtime::pinned_resource staging;
      runtime::cuda_backend work;
      serve(memory, staging, work);
    } else {
      runtime::host_resource memory;
      runtime::host_backend work;
      serve(memory, memory, work);
    }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "attention: %s\n", error.what());
    return 1;
  }
  return 0;
}
