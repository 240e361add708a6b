// Gzip files (RFC 1952) as the text that is packed in them, a piece at a time. torch.profiler writes its traces so.
//
// Memory is about 50 KB per file that is being read, whatever its length: the window of the format and a piece of input.
#pragma once

#include "fabricast/calibrate/live.hpp"

namespace fabricast::live {

/// A source that unpacks `packed` if it begins as a gzip file, and else is the same. Several gzip files in one, as
/// parallel packers write them, are one text; zeros behind the last one are padding.
///
/// It is read from front to back; reading again what was read before unpacks from the beginning. Copies share a state,
/// so only one thread may read them.
///
/// Its `read` throws UserError, with the file and the byte, for data that are damaged, cut off, of another sum than the
/// file states, or followed by what is no gzip. What precedes the damage has been given by then.
LiveSource unpacked(LiveSource packed);

}  // namespace fabricast::live
