#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>

namespace galen {
namespace {

TEST(Status, IsOkByDefault) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(ToString(OkStatus()), "OK");
  const Status status = NotFound("pod {}/{}", "ns", "a");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(ToString(status), "NotFound: pod ns/a");
}

TEST(Status, AnnotatedReadsAsAChainOfCausesAndKeepsItsCode) {
  const Status status = Annotate(Unavailable("connection refused"), "publish pod {}", "ns/a");
  EXPECT_EQ(status, Unavailable("publish pod ns/a: connection refused"));
  EXPECT_TRUE(Annotate(OkStatus(), "publish").ok());
}

TEST(Status, CodesAreThoseOfGrpc) {
  std::set<std::string_view> names;
  for (int i = 0; i <= 16; ++i) names.insert(ToString(static_cast<Code>(i)));
  EXPECT_EQ(names.size(), 17u);
  EXPECT_EQ(static_cast<int>(Code::kUnauthenticated), 16);
  EXPECT_EQ(static_cast<int>(Code::kUnavailable), 14);
  EXPECT_EQ(ToString(Code::kDataLoss), "DataLoss");
}

TEST(Status, SystemErrorsGetTheCodeThatSaysWhatToDo) {
  EXPECT_EQ(ErrnoStatus(ENOENT, "open /a").code(), Code::kNotFound);
  EXPECT_EQ(ErrnoStatus(ENOSPC, "write /a").code(), Code::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(ECONNREFUSED, "connect /a").code(), Code::kUnavailable);
  EXPECT_EQ(ErrnoStatus(EACCES, "open /a").code(), Code::kPermissionDenied);
  EXPECT_EQ(ErrnoStatus(ENOENT, "open /a").message(), "open /a: No such file or directory");
}

TEST(Status, OnlyWhatTimeCanMendIsRetryable) {
  std::set<Code> retryable;
  for (int i = 0; i <= 16; ++i) {
    const Code code = static_cast<Code>(i);
    if (IsRetryable({code, ""})) retryable.insert(code);
  }
  EXPECT_EQ(retryable, (std::set<Code>{Code::kDeadlineExceeded, Code::kResourceExhausted,
                                       Code::kAborted, Code::kUnavailable}));
}

StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("{} is odd", value);
  return std::make_unique<int>(value / 2);
}

StatusOr<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(value));
  ASSIGN_OR_RETURN(const std::unique_ptr<int> quarter, Half(*half));
  return *quarter;
}

Status CheckQuarter(int value) {
  RETURN_IF_ERROR(Quarter(value).status());
  return OkStatus();
}

TEST(StatusOr, HandsItsValueOnAndStopsAtTheFirstError) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status(), InvalidArgument("3 is odd"));
  EXPECT_TRUE(CheckQuarter(4).ok());
  EXPECT_EQ(CheckQuarter(5), InvalidArgument("5 is odd"));
}

TEST(StatusOrDeathTest, ReadingAnErrorAsAValueIsOurBug) {
  const StatusOr<int> failed = NotFound("x");
  EXPECT_DEATH((void)*failed, "ok\\(\\)");
  EXPECT_DEATH((void)StatusOr<int>{OkStatus()}, "ok\\(\\)");
}

}  // namespace
}  // namespace galen
