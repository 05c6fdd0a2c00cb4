// SPDX-License-Identifier: Apache-2.0
// The fields of a request as data: what each object may hold, and what each field takes.
#pragma once

#include <allot/family/recurrent_state.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace allot::json {

/// The objects of a request.
enum class place : std::uint8_t {
  request,
  budget,
  charge,
  pool,
  index,
  state,
  experts,
  bank,
  demand,
  ratios,  ///< a list of numbers, not of objects
};
inline constexpr int places = 10;

/// What a field takes.
enum class takes : std::uint8_t {
  identity,  ///< any scalar, echoed
  whole,     ///< an integer of at least `lowest`
  ratio,     ///< a number, see `field::share`
  flag,      ///< true or false
  name,      ///< a string
  word,      ///< one of `words`
  object,    ///< `{…}`: `inside`
  list,      ///< `[{…}, …]`: each `inside`
  numbers,   ///< `[0, …]`: integers of at least `lowest`
  anything,  ///< passed over: unknown
};

struct word {
  std::string_view text;
  std::int64_t value;
};

struct field {
  std::string_view name;
  takes kind = takes::anything;
  std::int64_t lowest = 0;        ///< of a whole number
  place inside = place::request;  ///< of an object or a list
  std::span<word const> words{};  ///< of a word
  std::string_view right{};       ///< what would be right, where the kind does not say it
  bool share = false;             ///< a ratio above 0 and at most 1; else one of at least 0
  bool setting = false;           ///< a setting: a repair may change it to the nearest legal value
};

// The fields of each object, by their index in `fields_of(place)`.
namespace at_request {
enum : std::uint8_t {
  id,
  budget,
  charges,
  kv,
  state,
  experts,
  demand,
  objective,
  granularity,
  arrangement,
  count
};
}
namespace at_budget {
enum : std::uint8_t { bytes, baseline_bytes, ratio, resident_bytes, count };
}
namespace at_charge {
enum : std::uint8_t { name, bytes, count };
}
namespace at_pool {
enum : std::uint8_t {
  family,
  name,
  page_tokens,
  sentinel_pages,
  page_bytes,
  layers,
  kv_heads,
  head_dim,
  v_head_dim,
  dtype,
  tp,
  scale_bytes,
  index,
  latent_dim,
  window_tokens,
  prefill_chunk_tokens,
  max_running,
  ratio,
  pinned_tokens,
  prefix_cached,
  retain_gap,
  eviction_interval,
  sentinel_rows,
  map_bytes,
  index_head_dim,
  compress_ratios,
  window_ratio,
  pinned_pages,
  max_seq_tokens,
  count
};
}
namespace at_index {
enum : std::uint8_t { head_dim, layers, dtype, count };
}
namespace at_state {
enum : std::uint8_t {
  kind,
  name,
  layers,
  key_heads,
  value_heads,
  key_head_dim,
  value_head_dim,
  heads,
  head_dim,
  groups,
  inner_dim,
  state_dim,
  conv_kernel,
  dtype,
  state_dtype,
  tp,
  max_running,
  snapshot_ratio,
  prefix_cached,
  sentinel_slots,
  slots,
  count
};
}
namespace at_experts {
enum : std::uint8_t {
  slot_bytes,
  banks,
  per_layer,
  layers,
  max_slots,
  slots,
  prefill_buffer,
  count
};
}
namespace at_bank {
enum : std::uint8_t { rows_bytes, count };
}
namespace at_demand {
enum : std::uint8_t {
  min_tokens,
  min_usable_pages,
  target_tokens,
  max_tokens,
  pages,
  tokens,
  count
};
}

/// More fields than any object has.
inline constexpr unsigned most_fields = 32;

[[nodiscard]] std::span<field const> fields_of(place p);

/// A set of fields of one object.
using field_set = std::uint32_t;
template <class... Index>
constexpr field_set set_of(Index... index) {
  return (field_set{0} | ... | (field_set{1} << static_cast<unsigned>(index)));
}

/// The KV families that can be read.
struct family_fields {
  std::string_view name;
  field_set needed;   ///< must be given
  field_set allowed;  ///< may be given
};
enum class read_family : std::uint8_t {
  raw,
  gqa,
  block_sparse,
  mla,
  sliding_window,
  compressed_tiers
};
[[nodiscard]] family_fields const& fields_of(read_family f);

/// The same of the kinds of state.
[[nodiscard]] family_fields const& fields_of(state_kind k);

}  // namespace allot::json
