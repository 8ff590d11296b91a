#include "web/probe_page.h"

#include <gtest/gtest.h>

#include "web/asked_page.h"

namespace galen::web {
namespace {

TEST(ProbePage, SaysReadyOrNotAndNeverWhy) {
  Metrics metrics;
  metrics.DeclareGauge("galen_secret", "Secret.");
  net::AdminPage whole(metrics);
  std::string trouble;
  whole.AddCheck("permissions", [&trouble] { return trouble; });
  whole.AddNote("troubles", [] { return "driver of namespace train is gone"; });
  ProbePage probes(whole);
  AskedPage page(probes);
  EXPECT_EQ(page.Get("/healthz"), "200 ok\n");
  EXPECT_EQ(page.Get("/readyz"), "200 ok\n");
  EXPECT_EQ(page.Get("/readyz?verbose"), "200 ok\n");
  trouble = "cannot patch pods/status in the namespace train";
  EXPECT_EQ(page.Get("/readyz?verbose"), "503 not ready\n");
  EXPECT_EQ(page.Get("/healthz?verbose"), "200 ok\n");
  EXPECT_EQ(page.Get("/metrics"), "404 not found: try /healthz or /readyz\n");
  EXPECT_EQ(page.Ask({.method = "POST", .path = "/healthz"}),
            "405 only GET and HEAD are answered\n");
}

}  // namespace
}  // namespace galen::web
