#include "base/files/disk_thread.h"

#include <utility>

namespace galen {

StatusOr<std::unique_ptr<DiskThread>> DiskThread::Start(Loop& loop, const std::string& name,
                                                        const ThreadStarter& start_thread) {
  auto disk = std::unique_ptr<DiskThread>(new DiskThread(loop));
  ASSIGN_OR_RETURN(disk->thread_, start_thread(name, [jobs = &disk->jobs_] { jobs->Work(); }));
  return disk;
}

DiskThread::~DiskThread() {
  if (!thread_.joinable()) return;  // it was never started
  jobs_.Finish();
  thread_.join();
}

void DiskThread::Run(Task work, Task done) { jobs_.Give(std::move(work), std::move(done)); }

}  // namespace galen
