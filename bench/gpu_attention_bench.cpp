// SPDX-License-Identifier: Apache-2.0
// How fast attention runs on a GPU. Times are the device's: a graph of eight calls, the layers of a
// step, is replayed between two events; a time is that of one call. Beside it stands
//
//     of_copy   bytes the call must move, by the numbers in it, over its time, as a share of what
//               a copy within the device moves in the same run, read and written
//     TFLOP/s   where arithmetic is the limit
//
// `--tiny`, for a run on ptxemu, tries that all of it works: small shapes, once each.

#include <allot/attention/calls.hpp>
#include <allot/attention/kv_page.hpp>
#include <allot/attention/split_kv.hpp>
#include <allot/runtime/attention.hpp>
#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_devices.hpp>
#include <allot/runtime/cuda_resources.hpp>

#include <cuda_runtime_api.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace allot;
using runtime::buffer;

constexpr std::int32_t kv_heads = 8;
constexpr std::int32_t step_layers = 8;  // calls of a graph

void check(cudaError_t status, char const* call) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string{call} + ": " + cudaGetErrorString(status));
  }
}
#define CHECK_CUDA(call) check(call, #call)

// -- the device ----------------------------------------------------------------------------------

struct cuda_stream {
  cuda_stream() { CHECK_CUDA(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
  cuda_stream(cuda_stream const&) = delete;
  cuda_stream& operator=(cuda_stream const&) = delete;
  ~cuda_stream() { static_cast<void>(cudaStreamDestroy(handle)); }
  cudaStream_t handle = nullptr;
};

/// Device seconds between two points of a stream.
class stopwatch {
 public:
  stopwatch() {
    CHECK_CUDA(cudaEventCreate(&start_));
    CHECK_CUDA(cudaEventCreate(&stop_));
  }
  stopwatch(stopwatch const&) = delete;
  stopwatch& operator=(stopwatch const&) = delete;
  ~stopwatch() {
    static_cast<void>(cudaEventDestroy(start_));
    static_cast<void>(cudaEventDestroy(stop_));
  }

  template <class Issue>
  double seconds(cudaStream_t stream, Issue issue) {
    CHECK_CUDA(cudaEventRecord(start_, stream));
    issue();
    CHECK_CUDA(cudaEventRecord(stop_, stream));
    CHECK_CUDA(cudaEventSynchronize(stop_));
    float milliseconds = 0;
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

/// What every benchmark works with.
struct gpu {
  cuda_stream stream;
  runtime::cuda_backend work{stream.handle};
  runtime::device_resource memory;
  runtime::attention attend{work};
  stopwatch watch;
  double copied_bytes_per_second = 0;  ///< read and written

  /// Device memory with a copy of what is in `values`.
  template <class T>
  buffer upload(std::vector<T> const& values) {
    buffer out{memory, static_cast<std::int64_t>(values.size() * sizeof(T))};
    work.upload(out.data(), values.data(), out.bytes());
    work.wait();
    return out;
  }

  /// Device memory full of numbers of that type, between 0.5 and 1, of either sign.
  buffer numbers(element dtype, std::int64_t bytes);
};

/// A captured graph of what `issue` puts on the stream.
class captured {
 public:
  template <class Issue>
  captured(cudaStream_t stream, Issue issue) : stream_{stream} {
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    issue();
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    cudaError_t const made = cudaGraphInstantiate(&ready_, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    check(made, "cudaGraphInstantiate");
  }
  captured(captured const&) = delete;
  captured& operator=(captured const&) = delete;
  ~captured() { static_cast<void>(cudaGraphExecDestroy(ready_)); }

  void launch() const { CHECK_CUDA(cudaGraphLaunch(ready_, stream_)); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t ready_ = nullptr;
};

buffer gpu::numbers(element dtype, std::int64_t bytes) {
  // An exponent just below that of 1, and a drawn sign and mantissa.
  struct pattern {
    std::uint32_t exponent;
    std::uint32_t drawn;
  };
  auto const [exponent, drawn] = dtype == element::fp8    ? pattern{0x30303030, 0x87878787}
                                 : dtype == element::fp16 ? pattern{0x38003800, 0x83ff83ff}
                                 : dtype == element::bf16 ? pattern{0x3f003f00, 0x807f807f}
                                                          : pattern{0x3f000000, 0x807fffff};
  std::mt19937 random{7};
  std::vector<std::uint32_t> words(
      static_cast<std::size_t>(std::min<std::int64_t>(bytes, 1 << 20)) / sizeof(std::uint32_t) + 1);
  for (std::uint32_t& word : words) {
    word = exponent | (random() & drawn);
  }
  buffer out{memory, bytes};
  std::int64_t done = std::min<std::int64_t>(bytes, 1 << 20);
  work.upload(out.data(), words.data(), done);
  while (done < bytes) {
    std::int64_t const more = std::min(done, bytes - done);
    work.copy(out.data() + done, out.data(), more);
    done += more;
  }
  work.wait();
  return out;
}

/// What a call must move and compute, at the least.
struct effort {
  std::int64_t bytes = 0;
  double flops = 0;
};

/// Times `call(layer)` of the layers of a step.
template <class Call>
void time_calls(benchmark::State& bench, gpu& on, effort const& each, Call call) {
  call(0);  // loads the kernels, which is not for a capture
  on.work.wait();
  captured const step{on.stream.handle, [&] {
                        for (std::int32_t layer = 0; layer < step_layers; ++layer) {
                          call(layer);
                        }
                      }};
  step.launch();
  on.work.wait();
  double seconds = 0;  // of one call, added up
  for (auto _ : bench) {
    double const of_step = on.watch.seconds(on.stream.handle, [&] { step.launch(); });
    bench.SetIterationTime(of_step / step_layers);
    seconds += of_step / step_layers;
  }
  double const calls_per_second = static_cast<double>(bench.iterations()) / seconds;
  bench.counters["MB"] = static_cast<double>(each.bytes) / 1e6;
  bench.counters["of_copy"] =
      static_cast<double>(each.bytes) * calls_per_second / on.copied_bytes_per_second;
  if (each.flops > 0) { bench.counters["TFLOP/s"] = each.flops * calls_per_second / 1e12; }
}

/// The best of several copies of half of `bytes`, counted twice.
double measure_copy(gpu& on, std::int64_t bytes) {
  buffer const from = on.numbers(element::bf16, bytes / 2);
  buffer const to = on.numbers(element::bf16, bytes / 2);
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    double const seconds = on.watch.seconds(on.stream.handle, [&] {
      CHECK_CUDA(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes / 2),
                                 cudaMemcpyDeviceToDevice, on.stream.handle));
    });
    best = std::max(best, static_cast<double>(bytes) / seconds);
  }
  return best;
}

// -- batches -------------------------------------------------------------------------------------

struct batch {
  std::int32_t requests = 1;
  std::int32_t kv_tokens = 0;     ///< of each request
  std::int32_t query_tokens = 1;  ///< the last of them
};

std::string name_of(batch const& b) {
  auto const kv = std::to_string(b.requests) + "x" + std::to_string(b.kv_tokens);
  return b.query_tokens == 1 ? kv : kv + "/q" + std::to_string(b.query_tokens);
}

char const* name_of(element dtype) {
  switch (dtype) {
    case element::fp16: return "fp16";
    case element::bf16: return "bf16";
    case element::fp8: return "fp8";
    default: return "fp32";
  }
}

/// Rows of heads that lie one behind the other.
template <class Byte = std::byte const>
head_rows<Byte> rows_of(buffer const& memory, std::int64_t heads, std::int64_t dim,
                        element dtype = element::bf16) {
  std::int64_t const row = bits_of(dtype) / 8 * dim;
  return {memory.data(), heads * row, row, dtype};
}

/// A layer's cache with the requests of a batch in it, whose pages lie in no order.
struct filled_cache {
  filled_cache(gpu& on, kv_page const& page, batch const& of)
      : page_of{page},
        columns{
            static_cast<std::int32_t>((of.kv_tokens + page.page_tokens - 1) / page.page_tokens)},
        rows{on.numbers(page.dtype, columns * of.requests * page.bytes.value)} {
    ids.resize(static_cast<std::size_t>(columns) * static_cast<std::size_t>(of.requests));
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), std::mt19937{11});
    device_ids = on.upload(ids);
    lengths =
        on.upload(std::vector<std::int32_t>(static_cast<std::size_t>(of.requests), of.kv_tokens));
    auto const plane = [&](kv_rows const& r) {
      return kv_plane{rows.data() + r.offset, r.token_stride, r.head_stride};
    };
    cache = {.k = plane(page.k),
             .v = plane(page.v),
             .page_stride = page.bytes.value,
             .block_stride = page.bytes.value,
             .end_page = static_cast<std::int32_t>(ids.size()),
             .page_tokens = static_cast<std::int32_t>(page.page_tokens),
             .heads = static_cast<std::int32_t>(page.heads),
             .head_dim = static_cast<std::int32_t>(page.head_dim),
             .v_head_dim = static_cast<std::int32_t>(page.v_head_dim),
             .dtype = page.dtype};
    tables = {.pages = reinterpret_cast<std::int32_t const*>(device_ids.data()),
              .kv_len = reinterpret_cast<std::int32_t const*>(lengths.data()),
              .row_stride = columns,
              .columns = columns,
              .requests = of.requests};
  }

  /// Bytes of K and V of one token; where V is K, once.
  std::int64_t token_bytes() const {
    std::int64_t const row = page_of.k.row_bytes + (cache.v_is_k() ? 0 : page_of.v.row_bytes);
    return page_of.heads * row;
  }

  kv_page page_of;
  std::int32_t columns;
  buffer rows;
  std::vector<std::int32_t> ids;
  buffer device_ids;
  buffer lengths;
  kv_cache cache{};
  kv_tables tables{};
};

// -- the operators -------------------------------------------------------------------------------

void append(benchmark::State& bench, gpu& on, kv_page const& page, batch const& b) {
  filled_cache const kv{on, page, b};
  auto const tokens = b.requests * b.kv_tokens;
  std::vector<std::int64_t> slots(static_cast<std::size_t>(tokens));
  for (std::size_t t = 0; t < slots.size(); ++t) {
    auto const at = static_cast<std::int64_t>(t);
    slots[t] = kv.ids[static_cast<std::size_t>(at / page.page_tokens)] * page.page_tokens +
               at % page.page_tokens;
  }
  buffer const where = on.upload(slots);
  std::int64_t const elements = tokens * page.heads * page.head_dim;
  buffer const k = on.numbers(element::bf16, elements * 2);
  buffer const v = on.numbers(element::bf16, elements * 2);
  effort const each{.bytes = 2 * elements * 2 + tokens * kv.token_bytes() + tokens * 8};
  time_calls(bench, on, each, [&](std::int32_t) {
    on.attend.append({.cache = kv.cache,
                      .k = rows_of(k, page.heads, page.head_dim),
                      .v = rows_of(v, page.heads, page.head_dim),
                      .slots = reinterpret_cast<std::int64_t const*>(where.data()),
                      .tokens = tokens});
  });
}

void decode(benchmark::State& bench, gpu& on, kv_page const& page, batch const& b,
            std::int32_t query_heads) {
  filled_cache const kv{on, page, b};
  split_kv const split = on.attend.split_for(b.requests, page.heads);
  buffer const workspace{on.memory,
                         (*decode_workspace_bytes(split, query_heads, page.v_head_dim)).count};
  std::int64_t const rows = std::int64_t{b.requests} * query_heads;
  buffer const q = on.numbers(element::bf16, rows * page.head_dim * 2);
  buffer const out{on.memory, rows * page.v_head_dim * 2};
  std::int64_t const tokens = std::int64_t{b.requests} * b.kv_tokens;
  effort const each{
      .bytes = tokens * kv.token_bytes() + kv.device_ids.bytes() + q.bytes() + out.bytes(),
      .flops = 2.0 * static_cast<double>(tokens * query_heads * (page.head_dim + page.v_head_dim))};
  time_calls(bench, on, each, [&](std::int32_t layer) {
    on.attend.decode({.cache = kv.cache,
                      .tables = kv.tables,
                      .q = rows_of(q, query_heads, page.head_dim),
                      .out = rows_of<std::byte>(out, query_heads, page.v_head_dim),
                      .split = split,
                      .workspace = workspace.data(),
                      .workspace_bytes = workspace.bytes(),
                      .query_heads = query_heads,
                      .reuse_split = layer > 0});
  });
}

void prefill(benchmark::State& bench, gpu& on, kv_page const& page, batch const& b,
             std::int32_t query_heads) {
  filled_cache const kv{on, page, b};
  std::vector<std::int32_t> starts(static_cast<std::size_t>(b.requests) + 1);
  for (std::size_t r = 0; r < starts.size(); ++r) {
    starts[r] = static_cast<std::int32_t>(r) * b.query_tokens;
  }
  buffer const q_start = on.upload(starts);
  std::int64_t const rows = std::int64_t{starts.back()} * query_heads;
  buffer const q = on.numbers(element::bf16, rows * page.head_dim * 2);
  buffer const out{on.memory, rows * page.v_head_dim * 2};
  double const keys = b.kv_tokens - (b.query_tokens - 1) / 2.0;  // that a query sees, on average
  effort const each{
      .bytes = std::int64_t{b.requests} * b.kv_tokens * kv.token_bytes() + kv.device_ids.bytes() +
               q.bytes() + out.bytes(),
      .flops = 2.0 * keys * static_cast<double>(rows * (page.head_dim + page.v_head_dim))};
  time_calls(bench, on, each, [&](std::int32_t) {
    on.attend.prefill({.cache = kv.cache,
                       .tables = kv.tables,
                       .q_start = reinterpret_cast<std::int32_t const*>(q_start.data()),
                       .q = rows_of(q, query_heads, page.head_dim),
                       .out = rows_of<std::byte>(out, query_heads, page.v_head_dim),
                       .query_rows = starts.back(),
                       .query_heads = query_heads});
  });
}

void merge(benchmark::State& bench, gpu& on, element dtype, std::int32_t part_count,
           std::int32_t rows) {
  std::int32_t const heads = 32;
  std::int32_t const dim = 128;
  std::int64_t const part_bytes = std::int64_t{rows} * heads * dim * (bits_of(dtype) / 8);
  std::int64_t const lse_bytes = std::int64_t{rows} * heads * 4;
  buffer const parts = on.numbers(dtype, part_count * part_bytes);
  buffer const part_lse = on.numbers(element::fp32, part_count * lse_bytes);
  buffer const out{on.memory, part_bytes};
  buffer const lse{on.memory, lse_bytes};
  time_calls(bench, on, {.bytes = (part_count + 1) * (part_bytes + lse_bytes)}, [&](std::int32_t) {
    on.attend.merge({.parts = rows_of(parts, heads, dim, dtype),
                     .part_stride = part_bytes,
                     .part_lse = reinterpret_cast<float const*>(part_lse.data()),
                     .out = rows_of<std::byte>(out, heads, dim, dtype),
                     .lse = reinterpret_cast<float*>(lse.data()),
                     .part_count = part_count,
                     .rows = rows,
                     .heads = heads,
                     .dim = dim});
  });
}

// -- what is tried -------------------------------------------------------------------------------

/// Adds a benchmark "operator/type/…". What one throws, the others survive.
template <class Run>
void add(gpu& on, bool tiny, std::string const& name, Run run) {
  auto* const added =
      benchmark::RegisterBenchmark(name.c_str(), [&on, run](benchmark::State& bench) {
        try {
          run(bench, on);
        } catch (std::exception const& error) { bench.SkipWithError(error.what()); }
      });
  added->UseManualTime()->Unit(benchmark::kMicrosecond);
  if (tiny) {
    added->Iterations(1);
  } else {
    added->MinTime(0.1);
  }
}

void add_all(gpu& on, bool tiny) {
  auto const gqa_page = [](element dtype, std::int64_t page_tokens, std::int64_t dim,
                           std::int64_t v_dim) {
    return kv_page_of(gqa{.layers = 1,
                          .kv_heads = kv_heads,
                          .head_dim = dim,
                          .v_head_dim = v_dim,
                          .dtype = dtype,
                          .page_tokens = page_tokens});
  };
  // Some 128 k tokens: of the smallest of them, 256 MiB, a cache of the device holds a part.
  auto const steps = tiny ? std::vector<batch>{{2, 40}}
                          : std::vector<batch>{{1, 131'072}, {8, 16'384}, {32, 4096}, {128, 1024}};
  auto const latent_steps = tiny ? steps : std::vector<batch>{{32, 4096}, {128, 4096}};
  auto const chunks =
      tiny ? std::vector<batch>{{1, 40, 3}} : std::vector<batch>{{1, 4096, 4096}, {8, 8192, 512}};
  auto const elements = {element::bf16, element::fp16, element::fp8};
  auto const page_sizes = {std::int64_t{16}, std::int64_t{64}};

  for (element const dtype : elements) {
    std::string const type = name_of(dtype);
    for (std::int64_t const page_tokens : page_sizes) {
      kv_page const page = gqa_page(dtype, page_tokens, 128, 128);
      std::string const where = "/page" + std::to_string(page_tokens) + "/";
      batch const all = tiny ? batch{1, 20} : batch{1, 32'768};
      add(on, tiny, "append/" + type + where + name_of(all),
          [=](benchmark::State& bench, gpu& g) { append(bench, g, page, all); });
      for (std::int32_t const group : {1, 4, 8}) {
        for (batch const& b : steps) {
          add(on, tiny, "decode/" + type + "/group" + std::to_string(group) + where + name_of(b),
              [=](benchmark::State& bench, gpu& g) {
                decode(bench, g, page, b, kv_heads * group);
              });
        }
      }
    }
    for (std::int32_t const heads : {16, 128}) {
      for (batch const& b : latent_steps) {
        kv_page const page =
            kv_page_of(mla{.layers = 1, .latent_dim = 576, .dtype = dtype, .page_tokens = 64}, 512);
        add(on, tiny, "mla_decode/" + type + "/heads" + std::to_string(heads) + "/" + name_of(b),
            [=](benchmark::State& bench, gpu& g) { decode(bench, g, page, b, heads); });
      }
    }
    for (std::int64_t const dim : {128, 192}) {  // 192/128 is DeepSeek's
      kv_page const page = gqa_page(dtype, 16, dim, 128);
      for (batch const& b : chunks) {
        add(on, tiny, "prefill/" + type + "/dim" + std::to_string(dim) + "/group4/" + name_of(b),
            [=](benchmark::State& bench, gpu& g) { prefill(bench, g, page, b, kv_heads * 4); });
      }
    }
  }
  std::int32_t const rows = tiny ? 3 : 4096;
  for (element const dtype : {element::bf16, element::fp32}) {
    for (std::int32_t const parts : {2, 8}) {
      add(on, tiny,
          std::string{"merge/"} + name_of(dtype) + "/parts" + std::to_string(parts) + "/" +
              std::to_string(rows),
          [=](benchmark::State& bench, gpu& g) { merge(bench, g, dtype, parts, rows); });
    }
  }
}

int run(bool tiny) {
  gpu on;
  on.copied_bytes_per_second = measure_copy(on, tiny ? 1 << 16 : std::int64_t{2} << 30);
  benchmark::AddCustomContext("device", runtime::cuda_device_name(0));
  benchmark::AddCustomContext("copy_bytes_per_second", std::to_string(on.copied_bytes_per_second));
  add_all(on, tiny);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  benchmark::Initialize(&argc, argv);
  bool const tiny = argc == 2 && std::string_view{argv[1]} == "--tiny";
  if (!tiny && benchmark::ReportUnrecognizedArguments(argc, argv)) { return 2; }
  if (runtime::cuda_device_count() == 0) {
    std::fputs("there is no GPU\n", stderr);
    return skipped;
  }
  try {
    return run(tiny);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "gpu_attention_bench: %s\n", error.what());
    return 1;
  }
}
