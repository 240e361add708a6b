// What the writer of a page is made of.
#pragma once

#include <string>

#include "fabricast/page/page.hpp"

namespace fabricast {

/// The table of that name. \pre it is in the page
const PageTable& table_of(const Page& page, const std::string& name);
/// Rows that a page shows, those that are best or on the front first if there are more.
PageTable shown_rows(const PageTable& table);

std::string block_html(const Page& page, const PageBlock& block);
/// What the page's script works on: charts and the values of tables.
std::string page_json(const Page& page);

}  // namespace fabricast
