// The temporary files of FileSystem::WriteAtomically, which stay when the process ends in the
// middle of one. Their owner removes them when it starts, while nobody else can be writing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/files/file_system.h"

namespace galen {

// Stands in the name of a temporary file, between the name of the file that is written and
// something that is different each time.
inline constexpr std::string_view kTemporaryMark = ".tmp-";

// Removes the temporary files in `directory` of those files that `is_ours` accepts by their names;
// others may belong to a writer that is at work. OK also when there is no such directory; else the
// first error, after all have been tried.
Status RemoveTemporaryFiles(FileSystem& files, const std::string& directory,
                            const std::function<bool(std::string_view name)>& is_ours);
// As above, for the temporary files of the one file at `path`.
Status RemoveTemporaryFilesOf(FileSystem& files, const std::string& path);

}  // namespace galen
