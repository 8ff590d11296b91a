#include "base/files/temporary_files.h"

#include <vector>

#include "base/path.h"

namespace galen {

Status RemoveTemporaryFiles(FileSystem& files, const std::string& directory,
                            const std::function<bool(std::string_view name)>& is_ours) {
  const StatusOr<std::vector<std::string>> names = files.List(directory);
  if (names.status().code() == Code::kNotFound) return OkStatus();
  RETURN_IF_ERROR(names.status());
  Status first;
  for (const std::string& name : *names) {
    const std::size_t mark = name.rfind(kTemporaryMark);
    if (mark == std::string::npos || !is_ours(std::string_view(name).substr(0, mark))) continue;
    const Status removed = files.Remove(directory + "/" + name);
    if (first.ok()) first = removed;
  }
  return first;
}

Status RemoveTemporaryFilesOf(FileSystem& files, const std::string& path) {
  const std::string own = path.substr(path.find_last_of('/') + 1);
  return RemoveTemporaryFiles(files, ParentOf(path),
                              [&](std::string_view name) { return name == own; });
}

}  // namespace galen
