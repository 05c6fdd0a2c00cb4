// SPDX-License-Identifier: Apache-2.0
// What cannot be right is refused before anything is issued, by the field, its value, and what
// would be right. What is right, and looks odd, is not.
#include "cases.hpp"

#include <functional>
#include <stdexcept>

using namespace attention_test;

namespace {

/// A backend without kernels of attention.
class bare_backend final : public rt::backend {
 public:
  char const* name() const noexcept override { return "bare"; }
  bool reaches(rt::memory_space) const noexcept override { return true; }
  void fill(void*, std::byte, std::int64_t) override {}
  void copy(void*, void const*, std::int64_t) override {}
  void upload(void*, void const*, std::int64_t) override {}
  void download(void*, void const*, std::int64_t) override {}
  std::int64_t find_other(void const*, std::byte, std::int64_t) override { return -1; }
  void wait() override {}
};

template <class Issue>
std::string refused(Issue&& issue) {
  try {
    issue();
  } catch (std::invalid_argument const& error) { return error.what(); }
  return "nothing was refused";
}

/// A change to a call, and what it is refused with, from the field on.
template <class Call>
struct wrong_call {
  char const* words;
  std::function<void(Call&)> change;
};

template <class Call>
void check_refusals(char const* name, Call const& right,
                    std::initializer_list<wrong_call<Call>> all,
                    std::function<void(Call const&)> const& issue) {
  int checked = 0;
  for (wrong_call<Call> const& one : all) {
    Call call = right;
    one.change(call);
    CHECK(refused([&] { issue(call); }) == std::string{name} + ": " + one.words);
    ++checked;
  }
  CHECK(checked == static_cast<int>(all.size()));
}

/// A field that is `value` bytes too far.
template <class T>
T* past(T* address, std::int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) +
                              static_cast<std::uintptr_t>(bytes));
}

}  // namespace

TEST_CASE("a backend without kernels") {
  bare_backend bare;
  CHECK(refused([&] { rt::attention{bare}; }) ==
        "attention: the backend 'bare' has no kernels of attention");
}

TEST_CASE("split_for") {
  rt::attention const& attend = the_card().attend;
  CHECK(refused([&] { attend.split_for(-1, 1); }) ==
        "split_for: requests is -1; it must be at least 0");
  CHECK(refused([&] { attend.split_for(4, 0); }) ==
        "split_for: kv_heads is 0; it must be at least 1");
  for (std::int64_t const heads : {1, 2, 8, 1000}) {
    allot::split_kv const split = attend.split_for(9, heads);
    CHECK(split.requests == 9);
    CHECK(split.parts >= 1);
    CHECK(split.splits_per_request == 0);
  }
}

TEST_CASE("caches that cannot be addressed") {
  attention_shape s = with_dtype(plain({{20, 1}}), element::fp8);
  s.kv.row_scales = true;
  decode_trial trial{s};
  using call = allot::decode_call;
  check_refusals<call>(
      "decode", trial.call(),
      {
          {"cache is head_dim 80, v_head_dim 64, fp8; it must be one of 64/64, 96/96, 128/128, "
           "192/192, 256/256, 192/128, 576/512 in fp16, bf16 or fp8",
           [](call& c) { c.cache.head_dim = 80; }},
          {"cache is head_dim 64, v_head_dim 64, int8; it must be one of 64/64, 96/96, 128/128, "
           "192/192, 256/256, 192/128, 576/512 in fp16, bf16 or fp8",
           [](call& c) { c.cache.dtype = element::int8; }},
          {"cache.page_tokens is 0; it must be at least 1",
           [](call& c) { c.cache.page_tokens = 0; }},
          {"cache.heads is 0; it must be at least 1", [](call& c) { c.cache.heads = 0; }},
          {"cache.block_pages is -2; it must be at least 1",
           [](call& c) { c.cache.block_pages = -2; }},
          {"cache.first_page is -1; it must be at least 0",
           [](call& c) { c.cache.first_page = -1; }},
          {"cache.end_page is 0; it must be at least 1", [](call& c) { c.cache.end_page = 0; }},
          {"cache.block_stride is 0; it must be at least 16",
           [](call& c) { c.cache.block_stride = 0; }},
          {"cache.block_stride is -4096; it must be at least 16",
           [](call& c) { c.cache.block_stride = -4096; }},
          {"cache.block_stride is 4104; it must be a multiple of 16",
           [](call& c) { c.cache.block_stride = 4104; }},
          {"cache.page_stride is 24; it must be a multiple of 16",
           [](call& c) {
             c.cache.block_pages = 2;
             c.cache.page_stride = 24;
           }},
          {"cache.k.data is null; it must be an address",
           [](call& c) { c.cache.k.data = nullptr; }},
          {"cache.v.data is an address 8 bytes past a multiple of 16; it must be a multiple of 16",
           [](call& c) { c.cache.v.data = past(c.cache.v.data, 8); }},
          {"cache.k.token_stride is 65; it must be a multiple of 16",
           [](call& c) { c.cache.k.token_stride = 65; }},
          {"cache.v.head_stride is 8; it must be a multiple of 16",
           [](call& c) { c.cache.v.head_stride = 8; }},
          {"cache.k_scale is 0.000000; it must be above 0", [](call& c) { c.cache.k_scale = 0; }},
          {"cache.v_scale is -2.000000; it must be above 0", [](call& c) { c.cache.v_scale = -2; }},
          {"cache.v_scale is inf; it must be finite", [](call& c) { c.cache.v_scale = HUGE_VALF; }},
          {"cache.k_scales.data is null; it must be an address",
           [](call& c) { c.cache.k_scales.data = nullptr; }},
          {"cache.v_scales.data is an address 2 bytes past a multiple of 4; it must be a multiple "
           "of 4",
           [](call& c) { c.cache.v_scales.data = past(c.cache.v_scales.data, 2); }},
          {"cache.k_scales.token_stride is 6; it must be a multiple of 4",
           [](call& c) { c.cache.k_scales.token_stride = 6; }},
      },
      [](call const& c) { the_card().attend.decode(c); });

  decode_trial plain_trial{plain({{20, 1}})};
  check_refusals<call>(
      "decode", plain_trial.call(),
      {
          {"cache.k_scale is 0.500000; it must be 1: only an fp8 cache has scales",
           [](call& c) { c.cache.k_scale = 0.5F; }},
          {"cache.k_scales.data is an address; it must be null: only an fp8 cache has scales",
           [](call& c) { c.cache.k_scales = c.cache.k; }},
      },
      [](call const& c) { the_card().attend.decode(c); });
}

TEST_CASE("append") {
  attention_shape const s = plain({{20, 1}});
  decode_trial trial{s};
  on_card<std::int64_t> const slots{{17}};
  allot::append_call const right{.cache = trial.cached.pool().cache(),
                                 .k = trial.rows.q.in(),
                                 .v = trial.rows.q.in(),
                                 .slots = slots.data(),
                                 .tokens = 1};
  using call = allot::append_call;
  check_refusals<call>(
      "append", right,
      {
          {"tokens is -1; it must be at least 0", [](call& c) { c.tokens = -1; }},
          {"slots is null; it must be an address", [](call& c) { c.slots = nullptr; }},
          {"k.data is null; it must be an address", [](call& c) { c.k.data = nullptr; }},
          {"k.dtype is fp8; it must be fp16 or bf16", [](call& c) { c.k.dtype = element::fp8; }},
          {"v.row_stride is 129; it must be a multiple of 2",
           [](call& c) { c.v.row_stride = 129; }},
          {"v.head_stride is 7; it must be a multiple of 2", [](call& c) { c.v.head_stride = 7; }},
          {"cache.heads is 0; it must be at least 1", [](call& c) { c.cache.heads = 0; }},
      },
      [](call const& c) { the_card().attend.append(c); });
  call v_is_k = right;
  v_is_k.cache.v = v_is_k.cache.k;
  v_is_k.v = {};
  CHECK(refused([&] { the_card().attend.append(v_is_k); }) == "nothing was refused");
  v_is_k.cache.head_dim = 64;
  the_card().work.wait();
}

TEST_CASE("decode") {
  attention_shape s = plain({{20, 1}, {3, 1}});
  s.kv.heads = 2;
  s.sinks = true;
  decode_trial trial{s};
  using call = allot::decode_call;
  std::string const bytes = std::to_string(trial.memory.bytes());
  std::string const fewer = "workspace_bytes is " + std::to_string(trial.memory.bytes() - 1) +
                            "; it must be at least " + bytes;
  check_refusals<call>(
      "decode", trial.call(),
      {
          {"tables.requests is -1; it must be at least 0", [](call& c) { c.tables.requests = -1; }},
          {"tables.columns is -1; it must be at least 0", [](call& c) { c.tables.columns = -1; }},
          {"tables.row_stride is 2; it must be at least 3",
           [](call& c) { c.tables.row_stride = 2; }},
          {"tables.pages is null; it must be an address",
           [](call& c) { c.tables.pages = nullptr; }},
          {"tables.kv_len is null; it must be an address",
           [](call& c) { c.tables.kv_len = nullptr; }},
          {"query_heads is 0; it must be at least 1", [](call& c) { c.query_heads = 0; }},
          {"query_heads is 3; it must be a multiple of 2", [](call& c) { c.query_heads = 3; }},
          {"query_heads is 65536; it must be at most 65535",
           [](call& c) { c.query_heads = 65'536; }},
          {"q.data is null; it must be an address", [](call& c) { c.q.data = nullptr; }},
          {"q.data is an address 1 bytes past a multiple of 2; it must be a multiple of 2",
           [](call& c) { c.q.data = past(c.q.data, 1); }},
          {"q.dtype is fp32; it must be fp16 or bf16", [](call& c) { c.q.dtype = element::fp32; }},
          {"q.row_stride is 3; it must be a multiple of 2", [](call& c) { c.q.row_stride = 3; }},
          {"out.data is null; it must be an address", [](call& c) { c.out.data = nullptr; }},
          {"out.dtype is fp8; it must be fp16 or bf16",
           [](call& c) { c.out.dtype = element::fp8; }},
          {"out.head_stride is 1; it must be a multiple of 2",
           [](call& c) { c.out.head_stride = 1; }},
          {"lse is an address 2 bytes past a multiple of 4; it must be a multiple of 4",
           [](call& c) { c.lse = past(c.lse, 2); }},
          {"options.scale is nan; it must be finite",
           [](call& c) { c.options.scale = std::nanf(""); }},
          {"options.soft_cap is inf; it must be finite",
           [](call& c) { c.options.soft_cap = HUGE_VALF; }},
          {"options.soft_cap is -1.000000; it must be at least 0",
           [](call& c) { c.options.soft_cap = -1; }},
          {"options.window_tokens is -1; it must be at least 0",
           [](call& c) { c.options.window_tokens = -1; }},
          {"options.sinks is an address 1 bytes past a multiple of 4; it must be a multiple of 4",
           [](call& c) { c.options.sinks = past(c.options.sinks, 1); }},
          {"split.requests is 3; it must be tables.requests, 2",
           [](call& c) { c.split.requests = 3; }},
          {"split.parts is 0; it must be at least 1", [](call& c) { c.split.parts = 0; }},
          {"split.parts is 2147483646; it must be at most 2147483645",
           [](call& c) { c.split.parts = INT32_MAX - 1; }},
          {"split.splits_per_request is -1; it must be at least 0",
           [](call& c) { c.split.splits_per_request = -1; }},
          {"split.parts is 4; it must be requests * splits_per_request, of 2 and 3",
           [](call& c) { c.split.splits_per_request = 3; }},
          {"workspace is null; it must be an address", [](call& c) { c.workspace = nullptr; }},
          {"workspace is an address 8 bytes past a multiple of 16; it must be a multiple of 16",
           [](call& c) { c.workspace = past(c.workspace, 8); }},
          {fewer.c_str(), [](call& c) { c.workspace_bytes -= 1; }},
      },
      [](call const& c) { the_card().attend.decode(c); });
  trial.run();
  CHECK(judged(trial) == "");
}

TEST_CASE("prefill") {
  attention_shape s = plain({{20, 3}});
  prefill_trial trial{s};
  using call = allot::prefill_call;
  check_refusals<call>(
      "prefill", trial.call(),
      {
          {"tables.requests is -7; it must be at least 0", [](call& c) { c.tables.requests = -7; }},
          {"query_rows is -1; it must be at least 0", [](call& c) { c.query_rows = -1; }},
          {"q_start is null; it must be an address", [](call& c) { c.q_start = nullptr; }},
          {"query_heads is 0; it must be at least 1", [](call& c) { c.query_heads = 0; }},
          {"options.window_tokens is 5; it must be 0 where causal is false",
           [](call& c) {
             c.causal = false;
             c.options.window_tokens = 5;
           }},
          {"q.dtype is fp32; it must be fp16 or bf16", [](call& c) { c.q.dtype = element::fp32; }},
          {"out.row_stride is 5; it must be a multiple of 2",
           [](call& c) { c.out.row_stride = 5; }},
          {"tables.row_stride is 0; it must be at least 3",
           [](call& c) { c.tables.row_stride = 0; }},
      },
      [](call const& c) { the_card().attend.prefill(c); });
  trial.run();
  CHECK(judged(trial) == "");
}

TEST_CASE("merge and expand_csr") {
  on_card<float> const memory{std::vector<float>(64, 0.0F)};
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  using call = allot::merge_call;
  call const right{.parts = {bytes, 16, 16, element::fp32},
                   .part_stride = 16,
                   .part_lse = memory.data() + 32,
                   .out = {bytes + 64, 16, 16, element::fp32},
                   .part_count = 2,
                   .rows = 1,
                   .heads = 1,
                   .dim = 4};
  check_refusals<call>(
      "merge", right,
      {
          {"part_count is -1; it must be at least 0", [](call& c) { c.part_count = -1; }},
          {"rows is -1; it must be at least 0", [](call& c) { c.rows = -1; }},
          {"heads is 0; it must be at least 1", [](call& c) { c.heads = 0; }},
          {"dim is 0; it must be at least 1", [](call& c) { c.dim = 0; }},
          {"parts.data is null; it must be an address", [](call& c) { c.parts.data = nullptr; }},
          {"parts.dtype is fp8; it must be fp16, bf16 or fp32",
           [](call& c) { c.parts.dtype = element::fp8; }},
          {"part_stride is 6; it must be a multiple of 4", [](call& c) { c.part_stride = 6; }},
          {"part_lse is null; it must be an address", [](call& c) { c.part_lse = nullptr; }},
          {"out.data is null; it must be an address", [](call& c) { c.out.data = nullptr; }},
          {"sinks is an address 1 bytes past a multiple of 4; it must be a multiple of 4",
           [](call& c) { c.sinks = past(c.part_lse, 1); }},
      },
      [](call const& c) { the_card().attend.merge(c); });

  on_card<std::int32_t> const ids{std::vector<std::int32_t>(8, 0)};
  using csr = allot::csr_call;
  csr const table{.starts = ids.data(),
                  .ids = ids.data(),
                  .last_page_len = ids.data(),
                  .pages = ids.data() + 2,
                  .kv_len = ids.data() + 3,
                  .faults = ids.data() + 4,
                  .row_stride = 1,
                  .id_count = 1,
                  .columns = 1,
                  .requests = 1};
  check_refusals<csr>(
      "expand_csr", table,
      {
          {"requests is -1; it must be at least 0", [](csr& c) { c.requests = -1; }},
          {"columns is -1; it must be at least 0", [](csr& c) { c.columns = -1; }},
          {"row_stride is 0; it must be at least 1", [](csr& c) { c.row_stride = 0; }},
          {"id_count is -1; it must be at least 0", [](csr& c) { c.id_count = -1; }},
          {"page_tokens is 0; it must be at least 1", [](csr& c) { c.page_tokens = 0; }},
          {"columns is 4294967296; it must be at most 2147483647",
           [](csr& c) {
             c.columns = c.page_tokens = 65'536;
             c.row_stride = 65'536;
           }},
          {"faults is null; it must be an address", [](csr& c) { c.faults = nullptr; }},
          {"starts is null; it must be an address", [](csr& c) { c.starts = nullptr; }},
          {"ids is null; it must be an address", [](csr& c) { c.ids = nullptr; }},
          {"last_page_len is null; it must be an address",
           [](csr& c) { c.last_page_len = nullptr; }},
          {"pages is null; it must be an address", [](csr& c) { c.pages = nullptr; }},
          {"kv_len is null; it must be an address", [](csr& c) { c.kv_len = nullptr; }},
      },
      [](csr const& c) { the_card().attend.expand_csr(c); });
  the_card().attend.merge(right);  // as it is, it is taken
  the_card().work.wait();
}
