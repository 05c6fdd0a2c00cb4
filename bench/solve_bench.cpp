// SPDX-License-Identifier: Apache-2.0
// What planning costs: lowering a table, solving it, laying it out, refusing with repairs.
// Times are for reading, not for asserting: compare them as ratios within one run.

#include <allot/allot.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

using namespace allot;

constexpr raw_pages pages{.page_bytes = bytes{1'622'016}, .page_tokens = 64};
constexpr gqa attention{.layers = 48, .kv_heads = 4, .head_dim = 128, .page_tokens = 64};
constexpr recurrent_state state{.layers = 36,
                                .key_heads = 16,
                                .value_heads = 32,
                                .key_head_dim = 128,
                                .value_head_dim = 128,
                                .conv_kernel = 4,
                                .max_running = 4};
constexpr expert_bank experts{.slot_bytes = bytes{2'772'480}, .per_layer = 512, .layers = 48};

constexpr auto one_pool = make_table(pages, experts);
constexpr auto several =
    make_table(attention, gqa{.layers = 1, .kv_heads = 8, .head_dim = 128, .page_tokens = 256},
               state, experts, charge{"workspace", bytes{268'435'456}});

/// Budgets that differ from call to call, so that nothing can be hoisted or predicted.
class budgets {
 public:
  explicit budgets(std::int64_t smallest) : next_{smallest} {}
  bytes operator()() {
    next_ += 7'919'000;
    if (next_ > 90'000'000'000) { next_ -= 60'000'000'000; }
    return {next_};
  }

 private:
  std::int64_t next_;
};

void run(benchmark::State& bench, table_view const& table, demand const& d, objective o,
         std::int64_t smallest) {
  budgets next{smallest};
  for (auto _ : bench) {
    auto const out = solve(table, next(), d, o);
    benchmark::DoNotOptimize(out.ok);
    benchmark::DoNotOptimize(out.value.left);
  }
}

void solve_closed_form(benchmark::State& bench) {
  run(bench, one_pool, {.min_tokens = {262'144}}, objective::experts_first, 30'000'000'000);
}
BENCHMARK(solve_closed_form);

void solve_context_first(benchmark::State& bench) {
  run(bench, one_pool, {.target_tokens = tokens{262'144}}, objective::context_first,
      30'000'000'000);
}
BENCHMARK(solve_context_first);

void solve_two_pools_and_state(benchmark::State& bench) {
  run(bench, several, {.min_tokens = {32'768}}, objective::experts_first, 30'000'000'000);
}
BENCHMARK(solve_two_pools_and_state);

void solve_with_granularity(benchmark::State& bench) {
  static constexpr auto table = several.with_granularity(2 << 20);
  run(bench, table, {.min_tokens = {32'768}}, objective::experts_first, 30'000'000'000);
}
BENCHMARK(solve_with_granularity);

void refuse_with_repairs(benchmark::State& bench) {
  std::int64_t budget = 0;
  for (auto _ : bench) {
    budget = (budget + 7'919'000) % 1'000'000'000;
    auto const out = solve(several, bytes{budget}, {.min_tokens = {32'768}});
    benchmark::DoNotOptimize(out.error.repair_count);
  }
}
BENCHMARK(refuse_with_repairs);

void build_table(benchmark::State& bench) {
  std::int64_t layers = 48;
  for (auto _ : bench) {
    gqa family = attention;
    benchmark::DoNotOptimize(layers);
    family.layers = layers;
    auto const table = make_table(family, state, experts);
    benchmark::DoNotOptimize(&table);
  }
}
BENCHMARK(build_table);

void lay_out_plan(benchmark::State& bench) {
  plan p = *solve(several, bytes{40'000'000'000}, {.min_tokens = {32'768}});
  for (auto _ : bench) {
    p.pages.count ^= 1;
    std::int64_t last = 0;
    auto const map =
        lay_out(several, p, [&](std::int32_t, placement const& place) { last = place.offset; });
    benchmark::DoNotOptimize(map.carved.count);
    benchmark::DoNotOptimize(last);
  }
}
BENCHMARK(lay_out_plan);

void solve_request(benchmark::State& bench) {
  kv_family const kv[] = {attention};
  request r{.kv = kv, .state = state, .experts = experts};
  table_storage storage;
  table_view table;
  budgets next{30'000'000'000};
  for (auto _ : bench) {
    r.budget = next();
    auto const out = solve(r, storage, table);
    benchmark::DoNotOptimize(out.ok);
  }
}
BENCHMARK(solve_request);

}  // namespace

BENCHMARK_MAIN();
