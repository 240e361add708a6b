// Parts of the writer of pages.
#pragma once

#include <string>
#include <string_view>

#include "fabricast/page/page.hpp"

namespace fabricast {

/// The table of that name. \throws InternalError if the page has none
const PageTable& table_of(const Page& page, const std::string& name);
/// The table with the rows that a page shows. If there are too many, rows that are best or on the front come first.
PageTable shown_rows(const PageTable& table);

/// Text escaped for HTML. Words between backticks, such as commands, become `<code>`.
std::string with_code(std::string_view text);
/// One block of a section as HTML.
std::string block_html(const Page& page, const PageBlock& block);
/// The data of the page's script: charts and the values of tables.
std::string page_json(const Page& page);

}  // namespace fabricast
