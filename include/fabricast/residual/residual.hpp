// How measurements differ from forecasts: one distribution for intervals, for verdicts, and for forecasts that go on from a
// few measured rows.
//
// The logarithms y_i = ln(measured / forecast) of all rows of one site are together
//
//   y  ~  Student t(0, S, nu)                                                              [Shah2014]
//   S_ij = g_i g_j ( sum_k s_ik s_jk d_ik d_jk  +  u_i . u_j  +  h^2 / (t_i t_j)
//                    + a^2 e^(-|o_i - o_j| / l) (1 + w_plan [same algorithm and protocol] + w_nodes n_ij
//                                                  + w_series [same series]) / (1 + w_plan + w_nodes + w_series)
//                    + r^2 [i = j] )
//
//   d_ik  derivative of ln t_i by the k-th group of parameters; s_ik how far sites differ in it, and how well it is known
//   u_i   what inputs that nobody stated would change, times the root of their probability
//   h     time that a host spends on a call besides, s;  t_i the forecast
//   o_i   octave of the size;  n_ij = e^(-|log2 nodes_i - log2 nodes_j| / l_nodes), half of it from one node to several
//   g_i   how far forecasts of such systems, sizes and collectives are off (ResidualScale)
//
// So a kind that was measured often is narrow, one never measured is wide by its parameters' own intervals. The numbers are
// learned from systems left out of the fit (calibrate/residuals.hpp). Not modelled: that sites of one provider are alike, and
// rows that are wrong by themselves.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/units.hpp"
#include "fabricast/residual/parameter_groups.hpp"

namespace fabricast {

/// Kinds of systems whose forecasts are off by unlike much: one node with NVSwitch; several over InfiniBand or RoCE, with
/// Hopper or newer GPUs and with older ones; nodes that are one over NVLink; other networks; GPUs over PCIe; NVLink meshes.
enum class ResidualKind { one_node, network, older_network, rack, other_network, pcie, mesh };
template <>
struct EnumNames<ResidualKind> {
  static constexpr std::array<std::string_view, 7> names{"one_node",      "network", "older_network", "rack",
                                                         "other_network", "pcie",    "mesh"};
};

/// Kinds of collectives likewise.
enum class ResidualFamily { all_reduce, rings, peers };
template <>
struct EnumNames<ResidualFamily> {
  static constexpr std::array<std::string_view, 3> names{"all_reduce", "rings", "peers"};
};
ResidualFamily residual_family(CollectiveOp op);

/// A row as far as it matters to what it is off by.
struct ResidualRow {
  ResidualKind kind = ResidualKind::one_node;
  CollectiveOp op = CollectiveOp::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::int64_t bytes = 1;
  std::int64_t nodes = 1;
  std::size_t series = 0;  ///< rows of one sweep over sizes have one
  Seconds forecast;
  PerGroup<double> effects{};              ///< d_ik
  PerGroup<double> own{};                  ///< deviation of the parameters themselves, as ln
  std::map<std::string, double> unstated;  ///< u_i, by what is not stated and its other value
};

/// ln g: linear in the octave between knots, plus what the kind and the family add at small and at large sizes.
struct ResidualScale {
  static constexpr std::array<double, 5> octaves = {10, 17, 22, 27, 31};
  std::array<double, 5> knots{};
  /// To 2^18 bytes, and from 2^27 on; between them linear in the octave.
  using Ends = std::array<double, 2>;
  std::array<Ends, EnumNames<ResidualKind>::names.size()> kinds{};
  std::array<Ends, EnumNames<ResidualFamily>::names.size()> families{};
};

/// ln g of a row.
double log_scale(const ResidualScale& scale, const ResidualRow& row);

struct ResidualModel {
  ResidualScale scale;
  double freedom = 3;                      ///< nu: the fewer, the more systems are far off
  PerGroup<double> groups{};               ///< how far sites differ in each group of parameters, as ln
  Seconds host;                            ///< h
  double curve = 0.2;                      ///< a
  double octaves = 18;                     ///< l
  double node_octaves = 0.7;               ///< l_nodes
  double plan = 1, nodes = 1, series = 1;  ///< w, relative to that of the site
  double row = 0.01;                       ///< r
};
/// As learned from the shipped cases; compiled into the binary.
const ResidualModel& shipped_residuals();

/// \throws UserError if the text is not of the form
ResidualModel residual_model_of(const std::string& json, const std::string& file);
std::string residual_model_json(const ResidualModel& model, const std::string& source);

/// What is known of a row's y: Student t with a median, a scale and degrees of freedom.
struct Residual {
  double median = 0, scale = 0, freedom = 3;
  double stated = 0;  ///< share of its variance that measured rows have taken away: 0 none, 1 all
  /// Half the width of the interval that holds so much, as ln.
  double half_width(double probability = 0.9) const;
  /// ln(measured / forecast) below which such a share of rows lies.
  double quantile(double probability) const;
};

/// Measured rows of one site, and what they tell of others. Immutable, so that threads may share it.
class SiteResiduals {
 public:
  /// \pre as many logs as rows. None: nothing is measured.
  SiteResiduals(const ResidualModel& model, std::vector<ResidualRow> measured, const std::vector<double>& logs);
  Residual of(const ResidualRow& row) const;
  const std::vector<ResidualRow>& measured() const;
  const std::vector<double>& logs() const;
  std::vector<Residual> of(const std::vector<ResidualRow>& rows) const;
  /// Of the mean of their y. \pre there is a row
  Residual of_mean(const std::vector<ResidualRow>& rows) const;

 private:
  struct Solved;
  std::shared_ptr<const Solved> solved_;
};

/// ln of the density of the logs of some rows of one site.
/// \param apart  g is multiplied by it: 1 for a site as others are
double log_density(const ResidualModel& model, std::span<const ResidualRow> rows, std::span<const double> logs,
                   double apart = 1);

}  // namespace fabricast
