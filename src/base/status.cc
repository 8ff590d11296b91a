#include "base/status.h"

#include <cerrno>
#include <cstring>

namespace galen {
namespace {

// By what the caller can do, not by what the name of the error suggests: whatever is used up may be
// free again later, a connection that broke may be made again, a wrong path stays wrong.
Code CodeOfErrno(int error) {
  switch (error) {
    case ENOENT:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::kResourceExhausted;
    case EINVAL:
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
      return Code::kInvalidArgument;
    case ETIMEDOUT:
      return Code::kDeadlineExceeded;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EAGAIN:
    case EINTR:
    case ENETUNREACH:
    case EHOSTUNREACH:
      return Code::kUnavailable;
    default:
      return Code::kUnknown;
  }
}

}  // namespace

std::string_view ToString(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kCancelled:
      return "Cancelled";
    case Code::kUnknown:
      return "Unknown";
    case Code::kInvalidArgument:
      return "InvalidArgument";
    case Code::kDeadlineExceeded:
      return "DeadlineExceeded";
    case Code::kNotFound:
      return "NotFound";
    case Code::kAlreadyExists:
      return "AlreadyExists";
    case Code::kPermissionDenied:
      return "PermissionDenied";
    case Code::kResourceExhausted:
      return "ResourceExhausted";
    case Code::kFailedPrecondition:
      return "FailedPrecondition";
    case Code::kAborted:
      return "Aborted";
    case Code::kOutOfRange:
      return "OutOfRange";
    case Code::kUnimplemented:
      return "Unimplemented";
    case Code::kInternal:
      return "Internal";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kDataLoss:
      return "DataLoss";
    case Code::kUnauthenticated:
      return "Unauthenticated";
  }
  GALEN_UNREACHABLE();
}

std::string ToString(const Status& status) {
  if (status.ok()) return "OK";
  return fmt::format("{}: {}", ToString(status.code()), status.message());
}

Status ErrnoStatus(int error, std::string_view what) {
  return {CodeOfErrno(error), fmt::format("{}: {}", what, std::strerror(error))};
}

// ResourceExhausted is among them because a full disk is emptied and an API server that says 429
// recovers; backoff keeps the asking cheap meanwhile.
bool IsRetryable(const Status& status) {
  switch (status.code()) {
    case Code::kUnavailable:
    case Code::kAborted:
    case Code::kDeadlineExceeded:
    case Code::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

}  // namespace galen
