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

/// The arena was not carved as the plan was priced: bytes of another table, or a fault of the
/// library. Checked in every build. A plan of another table that takes the same bytes is not
/// noticed.
class carving_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What lies beside the rows of an arena.
enum class guarding : std::uint8_t {
  off,
  /// Everything is poisoned with 0xFF (a NaN in every float format but fp4), and canaries lie
  /// behind every array and every layer of a page, in what rounds arrays up, and in the gap. Takes
  /// more bytes than the plan (`arena::guard_bytes`), and has other strides.
  on,
};

/// A canary that was written over.
struct broken_canary {
  std::string beside{};      ///< "gqa rows": the extent it follows, or the first one of the pool
  std::int64_t offset = -1;  ///< bytes from the start of the arena to the first changed byte
};

/// The memory of a plan: one allocation, carved by the walk that priced it. Move-only; one that was
/// moved from has no memory, and no resource.
class arena {
 public:
  /// Allocates and carves.
  ///
  /// \param t     the table that `p` was solved for. Arrays are aligned to its granularity: have it
  ///              solved `with_granularity(from.alignment())` where kernels load vectors
  /// \param from  outlives the arena
  /// \param work  poisons and writes canaries where `guard` is on; null otherwise
  /// \ensures     one call of `from.allocate`, and carved_bytes() == planned_bytes(p)
  /// \errors      std::invalid_argument for a table at fault, and for a guard without a backend of
  ///              that memory; carving_error; allocation_error, with nothing allocated
  arena(table_view const& t, plan const& p, memory_resource& from, guarding guard = guarding::off,
        backend* work = nullptr);

  /// Bytes of the arena that a plan was priced at: all it has but the charges.
  static bytes planned_bytes(table_view const& t, plan const& p) noexcept;

  /// Bytes that `guarding::on` takes beside those of the plan.
  static bytes guard_bytes(table_view const& t, plan const& p);

  arena_map const& map() const noexcept { return map_; }
  bytes carved_bytes() const noexcept { return map_.carved; }  ///< without what the guard adds
  bytes allocated_bytes() const noexcept { return {memory_.bytes()}; }
  std::byte* data() const noexcept { return memory_.data(); }
  memory_resource& resource() const noexcept { return *memory_.resource(); }

  /// Extents of the table, in its order.
  std::int64_t extents() const noexcept { return static_cast<std::int64_t>(places_.size()); }
  /// \errors  std::out_of_range, as of the next one
  placement const& place(std::int64_t extent) const { return checked_place(extent).where; }
  /// The pool and the extent: "gqa rows", or where pools have the same name "gqa#1 rows".
  std::string const& name(std::int64_t extent) const { return checked_place(extent).name; }

  /// \param pool    the pool's name, as in the table; "name#i" where several pools have it
  /// \param extent  the extent's: docs/contract.md lists those of every family
  /// \errors        std::out_of_range that lists the names there are
  std::int64_t find(std::string_view pool, std::string_view extent) const;

  /// All extents of a pool, in order.
  ///
  /// \errors  std::out_of_range, as `find`
  std::vector<std::int64_t> extents_of(std::string_view pool) const;

  /// The largest power of two that every row of an extent starts at a multiple of, for the arena's
  /// memory as it is aligned: what may be loaded at once.
  std::int64_t aligned_bytes(std::int64_t extent) const;

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
  /// \errors  std::logic_error when the arena is not guarded
  /// \cost    reads every canary, page by page
  broken_canary first_broken(backend& work) const;
  bool is_guarded() const noexcept { return !canaries_.empty(); }

 private:
  struct place_of_extent {
    std::string name;  // "gqa rows"
    placement where;
    std::int64_t pool_length = 0;  // of the name
  };
  struct canary {
    std::string beside;
    std::int64_t offset;  // of the first piece
    std::int64_t bytes;   // of one piece
    std::int64_t pieces;
    std::int64_t stride;  // bytes from piece to piece
  };

  static std::size_t index(std::int64_t extent) { return static_cast<std::size_t>(extent); }
  place_of_extent const& checked_place(std::int64_t extent) const;
  void carve(table_view const& t, plan const& p, bytes arena_bytes, guarded_table const* guarded);
  void add_canary(canary const& c);

  buffer memory_;
  arena_map map_;
  std::vector<place_of_extent> places_;
  std::vector<canary> canaries_;
};

}  // namespace allot::runtime
