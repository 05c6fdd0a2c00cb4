// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/layout.hpp>
#include <allot/runtime/backend.hpp>
#include <allot/runtime/extent_view.hpp>
#include <allot/runtime/memory_resource.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace allot::runtime {

class guarded_table;

/// The arena was not carved as the plan was priced: the plan is of another table, or a fault of the
/// library. Checked in every build.
class carving_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What lies beside the rows of an arena.
enum class guarding : std::uint8_t {
  off,
  /// Everything is poisoned with 0xFF (a NaN in every float format but fp4), and canaries lie
  /// between the extents, in what rounds arrays up, and in the gap. Takes more bytes than the plan.
  on,
};

/// A canary that was written over.
struct broken_canary {
  std::string beside{};      ///< "gqa rows": the extent it follows, or the first one of the pool
  std::int64_t offset = -1;  ///< bytes from the start of the arena to the first changed byte
};

/// The memory of a plan: one allocation, carved by the walk that priced it. Move-only.
class arena {
 public:
  /// Allocates and carves.
  ///
  /// \param t     the table that `p` was solved for
  /// \param from  outlives the arena
  /// \param work  poisons and writes canaries where `guard` is on; null otherwise
  /// \ensures     one call of `from.allocate`, and carved_bytes() == planned_bytes(p)
  /// \errors      allocation_error, with nothing allocated; carving_error; std::invalid_argument
  /// for
  ///              a guard without a backend
  arena(table_view const& t, plan const& p, memory_resource& from, guarding guard = guarding::off,
        backend* work = nullptr);

  /// Bytes of the arena that a plan was priced at: all it has but the charges.
  static bytes planned_bytes(table_view const& t, plan const& p) noexcept;

  arena_map const& map() const noexcept { return map_; }
  bytes carved_bytes() const noexcept { return map_.carved; }  ///< without what the guard adds
  bytes allocated_bytes() const noexcept { return {memory_.bytes()}; }
  std::byte* data() const noexcept { return memory_.data(); }
  memory_resource& resource() const noexcept { return *memory_.resource(); }

  /// Extents of the table, in its order.
  std::int64_t extents() const noexcept { return static_cast<std::int64_t>(places_.size()); }
  placement const& place(std::int64_t extent) const { return places_.at(index(extent)).where; }
  std::string const& name(std::int64_t extent) const { return places_.at(index(extent)).name; }

  /// \param pool    the pool's name, as in the table
  /// \param extent  the extent's, e.g. "rows"
  /// \errors        std::out_of_range that lists the names there are
  std::int64_t find(std::string_view pool, std::string_view extent) const;

  extent_view<std::byte> view(std::int64_t extent) const {
    return bytes_of(memory_.data(), place(extent));
  }
  /// \errors  std::invalid_argument where the rows are no `T`s
  template <class T>
  extent_view<T> view(std::int64_t extent) const {
    return elements_of<T>(view(extent));
  }

  /// The first canary that was written over, in the order of the arena; offset -1 when none was.
  ///
  /// \requires  the arena is guarded
  /// \cost      reads every canary, page by page
  broken_canary first_broken(backend& work) const;
  bool is_guarded() const noexcept { return !canaries_.empty(); }

 private:
  struct place_of_extent {
    std::string name;  // "gqa rows"
    placement where;
  };
  struct canary {
    std::string beside;
    std::int64_t offset;  // of the first piece
    std::int64_t bytes;   // of one piece
    std::int64_t pieces;
    std::int64_t stride;  // bytes from piece to piece
  };

  static std::size_t index(std::int64_t extent) { return static_cast<std::size_t>(extent); }
  void carve(table_view const& t, plan const& p, bytes arena_bytes, guarded_table const* guarded);
  void add_canary(canary const& c);

  buffer memory_;
  arena_map map_;
  std::vector<place_of_extent> places_;
  std::vector<canary> canaries_;
};

}  // namespace allot::runtime
