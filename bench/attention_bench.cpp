// SPDX-License-Identifier: Apache-2.0
// Attention on the host, beside what the machine can do on as many threads: `of_read` is bytes of
// KV a second by those of a plain sum over a buffer that no cache holds, `of_fma` is floating-point
// operations by those of a loop of multiply-adds in registers. Both are measured anew for each
// benchmark, and all are the best of several runs, for a machine is seldom alone. No more than 1 of
// either is possible.
//
// ALLOT_HOST_ISA chooses the kernels; the peak stays that of the processor.

#include <allot/attention/calls.hpp>
#include <allot/attention/kv_page.hpp>
#include <allot/runtime/attention.hpp>
#include <allot/runtime/host_backend.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace {

using allot::append_call;
using allot::decode_call;
using allot::element;
using allot::kv_cache;
using allot::merge_call;
using allot::prefill_call;

int threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Time of the processor where there is one thread, which others on the machine do not add to.
double seconds_now() {
  if (threads() == 1) { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The best of some tries, in what a second.
template <class F>
double rate_of(double amount, int tries, F once) {
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    double const start = seconds_now();
    once();
    best = std::max(best, amount / (seconds_now() - start));
  }
  return best;
}

double read_bytes_per_second() {
  static std::vector<std::uint64_t> const words(std::size_t{64} << 20U, 1);  // 512 MiB
  auto const count = static_cast<std::int64_t>(words.size());
  std::uint64_t const* const all = words.data();
  return rate_of(static_cast<double>(words.size()) * sizeof(std::uint64_t), 5, [&] {
    std::uint64_t sum = 0;
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : sum)
#endif
    for (std::int64_t i = 0; i < count; ++i) {
      sum += all[i];
    }
    benchmark::DoNotOptimize(sum);
  });
}

constexpr std::int64_t fma_rounds = 1'000'000;
constexpr int fma_chains = 10;  // in flight: latency times units

typedef float floats_4 __attribute__((vector_size(16)));
typedef float floats_8 __attribute__((vector_size(32)));
typedef float floats_16 __attribute__((vector_size(64)));

/// \returns  floating-point operations that it did
template <class Floats>
[[gnu::always_inline]] inline double multiply_add() {
  Floats sums[fma_chains] = {};
  Floats const factor = Floats{} + 0.999F;
  for (std::int64_t i = 0; i < fma_rounds; ++i) {
    for (int c = 0; c < fma_chains; ++c) {
      sums[c] = sums[c] * factor + factor;
    }
  }
  float total = 0;
  for (Floats const& sum : sums) {
    total += sum[0];
  }
  benchmark::DoNotOptimize(total);
  return 2.0 * fma_rounds * fma_chains * (sizeof(Floats) / sizeof(float));
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] double multiply_add_512() {
  return multiply_add<floats_16>();
}
[[gnu::target("avx2,fma")]] double multiply_add_256() {
  return multiply_add<floats_8>();
}
#endif

double multiply_add_widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) { return multiply_add_512(); }
  if (__builtin_cpu_supports("fma") != 0) { return multiply_add_256(); }
#endif
  return multiply_add<floats_4>();
}

double flops_per_second() {
  static double const operations = multiply_add_widest();
  return rate_of(operations * threads(), 20, [] {
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (int t = 0; t < threads(); ++t) {
      benchmark::DoNotOptimize(multiply_add_widest());
    }
  });
}

/// Bits of numbers between 1 and 2 and their negatives, in any of fp16, bf16 and fp8: nothing is
/// subnormal, and nothing overflows.
std::vector<std::byte> numbers(std::int64_t bytes, element dtype) {
  std::uint32_t const one = dtype == element::fp16   ? 0x3C00U
                            : dtype == element::bf16 ? 0x3F80U
                                                     : 0x38U;
  std::uint32_t const mantissa = dtype == element::fp16   ? 0x03FFU
                                 : dtype == element::bf16 ? 0x007FU
                                                          : 0x07U;
  std::size_t const size = dtype == element::fp8 ? 1 : 2;
  std::uint32_t const sign = dtype == element::fp8 ? 0x80U : 0x8000U;
  std::minstd_rand random;
  std::vector<std::byte> some(std::size_t{1} << 16U);
  for (std::size_t at = 0; at < some.size(); at += size) {
    auto const bits = static_cast<std::uint32_t>(random());
    auto const number = static_cast<std::uint16_t>(one | (bits & mantissa) | (bits >> 8U & sign));
    std::memcpy(&some[at], &number, size);
  }
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::size_t at = 0; at < out.size(); at += some.size()) {
    std::memcpy(&out[at], some.data(), std::min(some.size(), out.size() - at));
  }
  return out;
}

/// A pool and a batch of requests of one length, their pages in no order.
struct batch {
  std::int32_t head_dim = 128;
  std::int32_t v_head_dim = 128;
  element dtype = element::bf16;
  std::int32_t heads = 8;
  std::int32_t group = 1;
  std::int32_t requests = 0;
  std::int32_t kv_tokens = 0;
  std::int32_t page_tokens = 16;
  bool latent = false;  // V is K

  kv_cache cache{};
  std::vector<std::byte> pool{};
  std::vector<std::int32_t> pages{};
  std::vector<std::int32_t> kv_len{};
  std::int32_t columns = 0;

  std::int32_t query_heads() const { return heads * group; }
  double kv_bytes() const {
    return static_cast<double>(pool.size()) * (requests * columns) / cache.end_page;
  }
  double operations() const {  // of one query a request
    return 2.0 * requests * kv_tokens * query_heads() * (head_dim + v_head_dim);
  }

  void make() {
    columns = (kv_tokens + page_tokens - 1) / page_tokens;
    std::int32_t const count = requests * columns;
    auto const page = latent ? kv_page_of(allot::mla{.layers = 1,
                                                     .latent_dim = head_dim,
                                                     .dtype = dtype,
                                                     .page_tokens = page_tokens},
                                          v_head_dim)
                             : kv_page_of(allot::gqa{.layers = 1,
                                                     .kv_heads = heads,
                                                     .head_dim = head_dim,
                                                     .v_head_dim = v_head_dim,
                                                     .dtype = dtype,
                                                     .page_tokens = page_tokens});
    pool = numbers(page.bytes.value * (count + 1) + 64, dtype);
    auto const misaligned = reinterpret_cast<std::uintptr_t>(pool.data()) % 64;
    std::byte* const start = pool.data() + (misaligned == 0 ? 0 : 64 - misaligned);
    cache = {.k = {start + page.k.offset, page.k.token_stride, page.k.head_stride},
             .v = {start + page.v.offset, page.v.token_stride, page.v.head_stride},
             .page_stride = page.bytes.value,
             .block_stride = page.bytes.value,
             .first_page = 1,
             .end_page = count + 1,
             .page_tokens = page_tokens,
             .heads = heads,
             .head_dim = head_dim,
             .v_head_dim = v_head_dim,
             .dtype = dtype};
    pages.resize(static_cast<std::size_t>(count));
    std::iota(pages.begin(), pages.end(), 1);
    std::shuffle(pages.begin(), pages.end(), std::minstd_rand{});
    kv_len.assign(static_cast<std::size_t>(requests), kv_tokens);
  }

  allot::kv_tables tables() const {
    return {.pages = pages.data(),
            .kv_len = kv_len.data(),
            .row_stride = columns,
            .columns = columns,
            .requests = requests};
  }
};

/// [rows, heads, dim] of bf16
struct rows {
  std::vector<std::byte> bytes;
  std::int64_t heads;
  std::int64_t dim;
  rows(std::int64_t count, std::int64_t heads_, std::int64_t dim_)
      : bytes{numbers(count * heads_ * dim_ * 2, element::bf16)}, heads{heads_}, dim{dim_} {}
  allot::head_rows<std::byte const> in() const {
    return {bytes.data(), heads * dim * 2, dim * 2, element::bf16};
  }
  allot::head_rows<std::byte> out() {
    return {bytes.data(), heads * dim * 2, dim * 2, element::bf16};
  }
};

/// Runs `once` and reports the best of the runs, beside the best of the machine: on a busy one the
/// mean says more of the others.
template <class F>
void measure(benchmark::State& state, double bytes, double operations, F once) {
  double const read = read_bytes_per_second();
  double const peak = operations > 0 ? flops_per_second() : 1;
  double runs_per_second = 0;
  for (auto _ : state) {
    runs_per_second = std::max(runs_per_second, rate_of(1, 1, once));
  }
  state.counters["GB/s"] = bytes * runs_per_second / 1e9;
  state.counters["of_read"] = bytes * runs_per_second / read;
  if (operations > 0) {
    state.counters["GF/s"] = operations * runs_per_second / 1e9;
    state.counters["of_fma"] = operations * runs_per_second / peak;
  }
}

allot::runtime::host_backend host;

void decode(benchmark::State& state, batch b) {
  b.group = static_cast<std::int32_t>(state.range(0));
  b.make();
  allot::runtime::attention const attend{host};
  rows const q{b.requests, b.query_heads(), b.head_dim};
  rows out{b.requests, b.query_heads(), b.v_head_dim};
  auto const split = attend.split_for(b.requests, b.heads);
  auto const bytes = *allot::decode_workspace_bytes(split, b.query_heads(), b.v_head_dim);
  std::unique_ptr<std::byte[]> const workspace{
      new std::byte[static_cast<std::size_t>(bytes.count)]};
  decode_call const call{.cache = b.cache,
                         .tables = b.tables(),
                         .q = q.in(),
                         .out = out.out(),
                         .split = split,
                         .workspace = workspace.get(),
                         .workspace_bytes = bytes.count,
                         .query_heads = b.query_heads()};
  measure(state, b.kv_bytes(), b.operations(), [&] { attend.decode(call); });
}

/// Of each request, the last `tokens` are new.
void prefill(benchmark::State& state, batch b) {
  auto const tokens = static_cast<std::int32_t>(state.range(0));
  b.make();
  allot::runtime::attention const attend{host};
  std::int32_t const query_rows = b.requests * tokens;
  rows const q{query_rows, b.query_heads(), b.head_dim};
  rows out{query_rows, b.query_heads(), b.v_head_dim};
  std::vector<std::int32_t> starts;
  for (std::int32_t r = 0; r <= b.requests; ++r) {
    starts.push_back(r * tokens);
  }
  prefill_call const call{.cache = b.cache,
                          .tables = b.tables(),
                          .q_start = starts.data(),
                          .q = q.in(),
                          .out = out.out(),
                          .query_rows = query_rows,
                          .query_heads = b.query_heads()};
  double const seen = b.kv_tokens - (tokens - 1) / 2.0;  // on average
  measure(state, b.kv_bytes(), b.operations() / b.kv_tokens * seen * tokens,
          [&] { attend.prefill(call); });
}

/// bytes: read and written
void append(benchmark::State& state, batch b) {
  b.requests = 1;
  b.kv_tokens = 16'384;
  b.make();
  allot::runtime::attention const attend{host};
  rows const k{b.kv_tokens, b.heads, b.head_dim};
  rows const v{b.kv_tokens, b.heads, b.v_head_dim};
  std::vector<std::int64_t> slots(static_cast<std::size_t>(b.kv_tokens));
  for (std::size_t t = 0; t < slots.size(); ++t) {
    auto const page_tokens = static_cast<std::size_t>(b.page_tokens);
    slots[t] = std::int64_t{b.pages[t / page_tokens]} * b.page_tokens +
               static_cast<std::int64_t>(t % page_tokens);
  }
  append_call const call{
      .cache = b.cache, .k = k.in(), .v = v.in(), .slots = slots.data(), .tokens = b.kv_tokens};
  measure(state, b.kv_bytes() + static_cast<double>(k.bytes.size() + v.bytes.size()), 0,
          [&] { attend.append(call); });
}

/// bytes: read and written
void merge(benchmark::State& state) {
  constexpr std::int64_t count = 4096;
  constexpr std::int64_t heads = 32;
  constexpr std::int64_t dim = 128;
  auto const part_count = static_cast<std::int32_t>(state.range(0));
  allot::runtime::attention const attend{host};
  rows const parts{part_count * count, heads, dim};
  rows out{count, heads, dim};
  std::vector<float> const lse(static_cast<std::size_t>(part_count * count * heads), 1.0F);
  merge_call const call{.parts = parts.in(),
                        .part_stride = count * heads * dim * 2,
                        .part_lse = lse.data(),
                        .out = out.out(),
                        .part_count = part_count,
                        .rows = count,
                        .heads = heads,
                        .dim = dim};
  measure(state, static_cast<double>(parts.bytes.size() + out.bytes.size()), 0,
          [&] { attend.merge(call); });
}

// Half a GiB of KV, so that it is read from memory.
batch rows_of(std::int32_t dim, element dtype) {
  std::int32_t const token_bytes = 8 * 2 * dim * (dtype == element::fp8 ? 1 : 2);
  return {.head_dim = dim,
          .v_head_dim = dim,
          .dtype = dtype,
          .requests = 16,
          .kv_tokens = (512 << 20) / 16 / token_bytes};
}
batch const latent_rows{.head_dim = 576,
                        .v_head_dim = 512,
                        .heads = 1,
                        .requests = 16,
                        .kv_tokens = 28'000,
                        .page_tokens = 64,
                        .latent = true};
batch const prompt{.group = 4, .requests = 1, .kv_tokens = 4096};

void timed(benchmark::internal::Benchmark* b) {
  b->UseRealTime()->Unit(benchmark::kMillisecond);
}
void groups(benchmark::internal::Benchmark* b) {
  b->Arg(1)->Arg(4)->Arg(8)->Arg(16)->Apply(timed);
}

BENCHMARK_CAPTURE(decode, d64_bf16, rows_of(64, element::bf16))->Apply(groups);
BENCHMARK_CAPTURE(decode, d128_bf16, rows_of(128, element::bf16))->Apply(groups);
BENCHMARK_CAPTURE(decode, d256_bf16, rows_of(256, element::bf16))->Apply(groups);
BENCHMARK_CAPTURE(decode, d128_fp16, rows_of(128, element::fp16))->Apply(groups);
BENCHMARK_CAPTURE(decode, d128_fp8, rows_of(128, element::fp8))->Apply(groups);
BENCHMARK_CAPTURE(decode, mla_bf16, latent_rows)->Arg(1)->Arg(16)->Arg(64)->Apply(timed);
BENCHMARK_CAPTURE(prefill, d128_bf16, prompt)->Arg(1024)->Arg(4096)->Apply(timed);
BENCHMARK_CAPTURE(append, d128_bf16, batch{})->Apply(timed);
BENCHMARK_CAPTURE(append, d128_fp8, batch{.dtype = element::fp8})->Apply(timed);
BENCHMARK(merge)->Arg(2)->Arg(8)->Apply(timed);

}  // namespace

BENCHMARK_MAIN();
