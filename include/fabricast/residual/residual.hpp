// The distribution of forecast errors: intervals, verdicts on measurements, and forecasts that are conditioned on
// measured rows all use it.
//
// The logarithms y_i = ln(measured / forecast) of all rows of one site jointly follow a multivariate Student t:
//
//   y  ~  t(0, S, nu)                                                                      [Shah2014]
//   S_ij = g_i g_j ( sum_k s_ik s_jk d_ik d_jk  +  u_i . u_j  +  h^2 / (t_i t_j)
//                    + a^2 e^(-|o_i - o_j| / l) (1 + w_plan [same algorithm and protocol] + w_nodes n_ij
//                                                  + w_series [same series]) / (1 + w_plan + w_nodes + w_series)
//                    + r^2 [i = j] )
//
//   d_ik  derivative of ln t_i with respect to the k-th group of parameters (parameter_groups.hpp)
//   s_ik  deviation of the group from site to site, and of its least known parameter: sqrt(groups_k^2 + own_ik^2)
//   u_i   effects of unstated inputs on ln t_i, times the square root of their probability
//   h     extra time that a host spends on a call, s;  t_i is the forecast, s
//   o_i   octave of the size, log2 of its bytes
//   n_ij  e^(-|log2 nodes_i - log2 nodes_j| / l_nodes), half of it between one node and several
//   g_i   scale of the errors for the kind of system, the size and the family of collectives (ResidualScale)
//
// A row has a narrow interval if its kind was measured often and it depends on known parameters. A row that depends on
// parameters nobody has measured has a wide interval. The numbers are learned from systems that were held out of the
// fit (calibrate/residuals.hpp). docs/models/intervals.md has the derivation.
//
// Measured rows condition the distribution (SiteResiduals). They shift the median, narrow the scale, and raise the
// degrees of freedom by one each; if they are further off than expected, the scale of the whole site widens.
//
// All y, medians, scales and deviations are natural logarithms. Not modelled: similarity of sites of one provider, and
// rows that are wrong by mistake.
//
// Pure functions and immutable objects; safe to use concurrently. The cost of SiteResiduals is cubic in the number of
// measured rows for its construction, and quadratic for each query.
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

/// Kinds of systems whose errors differ in scale.
enum class ResidualKind {
  one_node,       ///< one host with NVSwitch
  network,        ///< several hosts over InfiniBand or RoCE, with Hopper or newer GPUs
  older_network,  ///< the same with older GPUs
  rack,           ///< hosts that NVLink joins into one node of NCCL, such as NVL72
  other_network,  ///< several hosts over another network
  pcie,           ///< GPUs without NVLink
  mesh            ///< NVLink without a switch
};
template <>
struct EnumNames<ResidualKind> {
  static constexpr std::array<std::string_view, 7> names{"one_node",      "network", "older_network", "rack",
                                                         "other_network", "pcie",    "mesh"};
};

/// Families of collectives whose errors differ in scale: all-reduce, other collectives, and sends and receives.
enum class ResidualFamily { all_reduce, rings, peers };
template <>
struct EnumNames<ResidualFamily> {
  static constexpr std::array<std::string_view, 3> names{"all_reduce", "rings", "peers"};
};
/// The family of an operation; `peers` are all operations made of sends and receives, including alltoall.
ResidualFamily residual_family(CollectiveOp op);

/// The properties of a row that its error distribution depends on.
struct ResidualRow {
  ResidualKind kind = ResidualKind::one_node;
  CollectiveOp op = CollectiveOp::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::int64_t bytes = 1;
  std::int64_t nodes = 1;
  std::size_t series = 0;                  ///< identifies the size sweep: equal for rows of one sweep
  Seconds forecast;                        ///< t_i; must be positive
  PerGroup<double> effects{};              ///< d_ik
  PerGroup<double> own{};                  ///< own_ik, see `deviations`
  std::map<std::string, double> unstated;  ///< components of u_i, by unstated key and its alternative value
};

/// ln g: piecewise linear in the octave of the size, plus contributions of the kind and the family.
struct ResidualScale {
  static constexpr std::array<double, 5> octaves = {10, 17, 22, 27, 31};  ///< of the knots; constant outside
  std::array<double, 5> knots{};
  /// A contribution for sizes up to 2^18 bytes and one for sizes from 2^27 bytes; linear in the octave in between.
  using Ends = std::array<double, 2>;
  std::array<Ends, EnumNames<ResidualKind>::names.size()> kinds{};
  std::array<Ends, EnumNames<ResidualFamily>::names.size()> families{};
};

/// ln g_i of a row.
double log_scale(const ResidualScale& scale, const ResidualRow& row);

/// The parameters of the distribution. The symbols are those of the file comment.
struct ResidualModel {
  ResidualScale scale;
  double freedom = 3;                      ///< nu; the smaller, the more systems are far off
  PerGroup<double> groups{};               ///< groups_k: deviation from site to site
  Seconds host;                            ///< h
  double curve = 0.2;                      ///< a: an error that varies smoothly over the sizes
  double octaves = 18;                     ///< l: octaves over which its correlation decays
  double node_octaves = 0.7;               ///< l_nodes
  double plan = 1, nodes = 1, series = 1;  ///< w, relative to the weight of the site
  double row = 0.01;                       ///< r: scatter of single rows
};

/// The model learned from the shipped cases; compiled into the binary.
const ResidualModel& shipped_residuals();

/// The model in a JSON text.
/// \param file  name of the file, for messages
/// \throws UserError if a key is missing or a value is not positive
ResidualModel residual_model_of(const std::string& json, const std::string& file);
/// The model as JSON, rounded to five significant digits, with a note on its source.
std::string residual_model_json(const ResidualModel& model, const std::string& source);

/// The distribution of one row's y: a Student t with a median, a scale and degrees of freedom.
struct Residual {
  double median = 0, scale = 0, freedom = 3;
  double stated = 0;  ///< fraction of the variance that measured rows have removed: 0 none, 1 all
  /// Half the width of the central interval that has this probability. Its exponential is the `factor` of reports.
  /// \pre 0 < probability < 1
  double half_width(double probability = 0.9) const;
  /// The y below which a row lies with this probability.
  /// \pre 0 < probability < 1
  double quantile(double probability) const;
};

/// The distribution conditioned on measured rows of one site. Copies share their data, which is immutable.
class SiteResiduals {
 public:
  /// \param measured  the measured rows; empty: nothing is measured
  /// \param logs      ln(measured / forecast) of each of them
  /// \pre logs.size() == measured.size()
  SiteResiduals(const ResidualModel& model, std::vector<ResidualRow> measured, const std::vector<double>& logs);
  /// The conditional distribution of one row.
  Residual of(const ResidualRow& row) const;
  /// The rows and logs as given to the constructor.
  const std::vector<ResidualRow>& measured() const;
  const std::vector<double>& logs() const;
  /// The conditional distribution of each row on its own; their correlation is not returned.
  std::vector<Residual> of(const std::vector<ResidualRow>& rows) const;
  /// The conditional distribution of the mean of the rows' y, with their correlation.
  /// \pre there is at least one row
  Residual of_mean(const std::vector<ResidualRow>& rows) const;
  /// The conditional distribution of y of one row less y of another, with their correlation: what is not known of a
  /// gain of one over the other.
  Residual of_difference(const ResidualRow& one, const ResidualRow& other) const;
  /// The conditional distribution of the sum of w_i y_i, with their correlation.
  /// \pre there is at least one row, and a weight for each
  Residual of_sum(const std::vector<ResidualRow>& rows, const std::vector<double>& weights) const;

 private:
  struct Solved;
  std::shared_ptr<const Solved> solved_;
};

/// ln of the joint density of the logs of some rows of one site; used to learn the model and to weigh causes in
/// `check`.
/// \param apart  multiplies g; 1 for an ordinary site, more for one whose errors are larger
/// \pre logs.size() == rows.size()
double log_density(const ResidualModel& model, std::span<const ResidualRow> rows, std::span<const double> logs,
                   double apart = 1);

}  // namespace fabricast
