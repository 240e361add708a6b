// The use of links by items, when there are millions of both. Links with the same uses have a common number, their
// *kind*. The amount of a use is stored as the number of a *value*, because there are few different values.
//
//   use of a link = (item << b | number of the value),  b = bits of the greatest number                             (1)
//
// A use thus takes four bytes instead of sixteen; a step on a million GPUs had 120 million uses. Values are stored
// apart from the layout, so that different hardware shares the layout.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace fabricast {

/// The uses of all links. An immutable value; copies share the layout.
class LinkUses {
 public:
  /// An item takes `use` of a link for each unit of its rate.
  struct Use {
    std::uint32_t item = 0;
    double use = 0;
  };
  struct Link {
    std::uint32_t link = 0, kind = 0;
  };

  /// The uses of one link, in order.
  class Users {
   public:
    class Iterator {
     public:
      Iterator(const LinkUses& of, std::size_t at) : of_(&of), at_(at) {}
      Use operator*() const { return of_->use(at_); }
      Iterator& operator++() { return ++at_, *this; }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }

     private:
      const LinkUses* of_;
      std::size_t at_;
    };
    Users(const LinkUses& of, std::size_t begin, std::size_t end) : of_(&of), begin_(begin), end_(end) {}
    std::size_t size() const { return end_ - begin_; }
    Iterator begin() const { return {*of_, begin_}; }
    Iterator end() const { return {*of_, end_}; }
    Use operator[](std::size_t i) const { return of_->use(begin_ + i); }

   private:
    const LinkUses* of_;
    std::size_t begin_, end_;
  };

  LinkUses() : layout_(std::make_shared<Layout>()) {}

  /// All links with uses, ascending.
  std::span<const Link> links() const { return layout_->links; }
  bool empty() const { return layout_->links.empty(); }
  /// Kinds are numbered by their lowest link.
  std::uint32_t kinds() const { return static_cast<std::uint32_t>(layout_->lowest.size()); }
  /// The users of each link of a kind. Valid as long as this object.
  Users users(std::uint32_t kind) const { return {*this, layout_->first[kind], layout_->first[kind + 1]}; }
  std::uint32_t lowest_link(std::uint32_t kind) const { return layout_->lowest[kind]; }
  /// Whether the uses of a kind are those of contended links (LinkUsesBuilder::build).
  bool contended(std::uint32_t kind) const { return !layout_->contended.empty() && layout_->contended[kind]; }
  /// Calls use(link, item, use) for all uses, in ascending order of links.
  template <class F>
  void for_each(F use) const {
    for (const Link& l : links())
      for (const Use u : users(l.kind)) use(l.link, u.item, u.use);
  }
  /// The same items on the same links with other values. The layout is not copied.
  LinkUses with(std::vector<double> values) const {
    LinkUses other = *this;
    other.values_ = std::move(values);
    return other;
  }

 private:
  friend class LinkUsesBuilder;
  struct Layout {
    std::vector<Link> links;
    std::vector<std::size_t> first{0};  ///< of uses, by kind; one entry more
    std::vector<std::uint32_t> lowest;  ///< link, by kind
    std::vector<bool> contended;        ///< by kind; empty: none
    int value_bits = 0;                 ///< b of (1)
    std::vector<std::uint32_t> uses;    ///< (1)
    std::vector<std::uint64_t> wide;    ///< (1), used instead of `uses` if an item and a value do not fit in 32 bits
  };
  Use use(std::size_t at) const {
    const Layout& l = *layout_;
    const std::uint64_t packed = l.wide.empty() ? l.uses[at] : l.wide[at];
    return {static_cast<std::uint32_t>(packed >> l.value_bits),
            values_[packed & ((std::uint64_t{1} << l.value_bits) - 1)]};
  }

  std::shared_ptr<const Layout> layout_;
  std::vector<double> values_;
};

/// Calls use(link, item, use, contended) for all uses, in ascending order of links.
template <class F>
void for_each_use(const LinkUses& uses, F use) {
  for (const LinkUses::Link& l : uses.links())
    for (const LinkUses::Use u : uses.users(l.kind)) use(l.link, u.item, u.use, uses.contended(l.kind));
}

/// Builds LinkUses from *parts*: lists of uses that recur on many links.
class LinkUsesBuilder {
 public:
  /// \returns the value's number
  std::uint32_t add_value(double value) {
    values_.push_back(value);
    return static_cast<std::uint32_t>(values_.size() - 1);
  }
  /// \returns the part's number
  std::uint32_t add_part() {
    parts_.push_back(uses_.size());
    return static_cast<std::uint32_t>(parts_.size() - 1);
  }
  /// Appends a use to the last part. \param value  number of the value
  void add_use(std::uint32_t item, std::uint32_t value) { uses_.push_back({item, value}); }
  /// Adds a part to the uses of a link.
  void add_link(std::uint32_t link, std::uint32_t part) { entries_.push_back({link, part}); }
  LinkUses build() { return build({}); }
  /// The same where contended links carry less. Values then come in pairs: the even one holds where a link is not
  /// contended, the next one where it is. Links for which can_be(link) holds are contended if they have several parts,
  /// as those of several teams, or a use with the second value.
  LinkUses build(const std::function<bool(std::uint32_t)>& can_be);

 private:
  struct Entry {
    std::uint32_t link = 0, part = 0;
  };
  struct NumberedUse {
    std::uint32_t item = 0, value = 0;
  };
  void sort_links(LinkUses::Layout& layout, std::vector<std::span<const Entry>>& parts_of_kind);
  std::span<const NumberedUse> part(std::uint32_t number) const {
    const std::size_t end = number + 1 < parts_.size() ? parts_[number + 1] : uses_.size();
    return std::span(uses_).subspan(parts_[number], end - parts_[number]);
  }
  std::vector<double> values_;
  std::vector<std::size_t> parts_;  ///< first use of each
  std::vector<NumberedUse> uses_;
  std::vector<Entry> entries_;
};

}  // namespace fabricast
