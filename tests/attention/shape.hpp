// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dice.hpp"
#include "kv_pool.hpp"

#include <allot/attention/split_kv.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace attention_test {

/// How large shapes may be. An interpreter takes its time.
struct sizes {
  std::int64_t work = 0;        ///< multiplications of all scores and sums
  std::int64_t pool_bytes = 0;  ///< about
  std::int32_t longest = 0;     ///< tokens of a request
  std::int32_t query_rows = 0;  ///< of a prefill
};

/// What the columns of a row hold behind its last page.
enum class tail : std::uint8_t { huge, given_out, minus_one, unwritten };

/// What a workspace holds before the first call.
enum class workspace : std::uint8_t { ones, garbage, unwritten };

struct request_shape {
  std::int32_t kv_len = 0;  ///< as the operator is told: may be below 0 or past the row
  std::int32_t tokens = 0;  ///< that its pages hold and that are written
  std::int32_t q_len = 1;
  bool foreign_page = false;  ///< one of its pages is replaced by one that is not given out
  bool shares_pages = false;  ///< its first pages are those of the request before it
};

/// All numbers of a random call; what the rows hold is drawn later.
struct attention_shape {
  int number = 0;
  std::uint64_t seed = 0;
  kv_shape kv;
  kv_placing placing;
  std::vector<request_shape> requests;
  std::int32_t columns = 1;
  std::int64_t table_stride = 1;
  tail behind = tail::huge;
  std::int32_t group = 1;
  element q_dtype = element::bf16, out_dtype = element::bf16;
  double q_gain = 1.0;
  bool odd_rows = false;  ///< rows of q and out have gaps, and lie anywhere on their elements
  float scale = 0.0F, soft_cap = 0.0F;
  std::int32_t window_tokens = 0;
  bool sinks = false;
  bool lse = true;
  // decode
  std::int32_t parts = 1, splits_per_request = 0;  ///< parts 0: `split_for`
  workspace before = workspace::ones;
  bool canary = false;
  bool reuse_split = false;
  bool twice = false;
  // prefill
  bool causal = true;
  std::int32_t rows_before = 0;  ///< query rows before the first request's
  std::int32_t rows_behind = 0;  ///< query rows past the end of the last request's

  std::int32_t query_heads() const { return kv.heads * group; }
  std::int32_t query_rows() const;
  std::string in_words() const;
};

/// What shapes a source draws.
enum class drawn : std::uint8_t { decode, prefill, latent_decode, latent_prefill };

/// Random shapes, always the same ones; each choice comes as often as the next.
class shape_source {
 public:
  shape_source(drawn kind, sizes limits, std::uint64_t seed);

  attention_shape next();

  /// Notes what a shape covers.
  void note(attention_shape const& s, tally& seen) const;

 private:
  bool latent() const { return kind_ == drawn::latent_decode || kind_ == drawn::latent_prefill; }
  bool prefill() const { return kind_ == drawn::prefill || kind_ == drawn::latent_prefill; }
  void draw_cache(attention_shape& s);
  void draw_requests(attention_shape& s);
  void draw_placing(attention_shape& s);
  void draw_call(attention_shape& s);

  drawn kind_;
  sizes limits_;
  dice d_;
  int number_ = 0;

  struct dims {
    std::int32_t k, v;
  };
  enum class scales : std::uint8_t { none, tensor, row };
  enum class length : std::uint8_t {
    none,
    one,
    page_edge,
    block_edge,
    any,
    past_the_row,
    negative
  };
  struct rows_kind {
    element e;
    scales s;
  };
  deck<dims> dims_{{64, 64}, {96, 96}, {128, 128}, {192, 192}, {256, 256}, {192, 128}};
  deck<rows_kind> rows_{{element::fp16, scales::none}, {element::bf16, scales::none},
                        {element::fp8, scales::none},  {element::fp8, scales::tensor},
                        {element::fp8, scales::row},   {element::fp16, scales::none},
                        {element::bf16, scales::none}};
  deck<std::int32_t> page_tokens_{1, 16, 32, 64, 128, 256, 3, 48, 16, 5};
  deck<std::int32_t> groups_{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 32, 64};
  deck<std::int32_t> latent_groups_{1, 5, 8, 16, 17, 32, 64, 128};
  deck<std::int32_t> heads_{1, 1, 1, 2, 2, 3, 4, 8};
  deck<std::int32_t> request_counts_{0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 7, 1, 2, 3};
  deck<std::int32_t> windows_{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 15, 16, 17, 31, 64, 127, 128, 1000};
  deck<laid> laid_{laid::by_hand, laid::by_hand, laid::flat, laid::layer_major, laid::page_major};
  deck<length> lengths_{length::none,       length::one, length::page_edge,    length::page_edge,
                        length::block_edge, length::any, length::block_edge,   length::any,
                        length::any,        length::any, length::past_the_row, length::any,
                        length::none,       length::any, length::page_edge,    length::any,
                        length::any,        length::any, length::negative,     length::any};
  deck<std::int32_t> soft_caps_{0, 0, 0, 1, 5, 50};
  deck<std::int32_t> percents_{5, 15, 25, 35, 45, 55, 65, 75, 85, 95};
};

}  // namespace attention_test
