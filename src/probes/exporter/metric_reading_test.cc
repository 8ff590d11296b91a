#include <gtest/gtest.h>

#include "probes/exporter/exporter_probe.h"

namespace galen::probes {
namespace {

const CheckedDevice kGpu{"gpu-0", {{"device", "gpu-0"}, {"pci", "0000:4b:00.0"}}};

// What a page says of counter "errors", found by the device's bus address.
MetricReading ReadErrors(std::string_view page, bool optional = false,
                         const CheckedDevice& device = kGpu) {
  const SignSpec sign{
      .name = "errors",
      .kind = SignKind::kCounter,
      .most = 1000.0,
      .metric = MetricSource{.exporter = "x", .name = "errors_total", .optional = optional}};
  const ExporterSpec exporter{.name = "x", .labels = {{"pci", "{pci}"}}};
  return ReadMetric(sign, exporter, *ParseMetrics(page, {"errors_total"}, {"pci"}), device);
}

TEST(MetricReading, IsTheSeriesOfTheDevice) {
  EXPECT_EQ(ReadErrors("errors_total{pci=\"00000000:4B:00.0\",a=\"b\"} 3\n"
                       "errors_total{pci=\"00000000:4C:00.0\"} 4\n")
                .value,
            3);
}

TEST(MetricReading, OfADeviceThatTheExporterDoesNotShowIsAnError) {
  EXPECT_EQ(ReadErrors("errors_total{pci=\"00000000:4C:00.0\"} 4\n").error,
            "exporter x shows none of errors_total with pci=\"0000:4b:00.0\"");
}

TEST(MetricReading, OfAMetricThatIsMissingIsAnErrorUnlessItIsOptional) {
  EXPECT_EQ(ReadErrors("up 1\n").error, "exporter x shows no errors_total");
  EXPECT_EQ(ReadErrors("up 1\n", true), MetricReading());
}

TEST(MetricReading, OfTwoRowsNeitherIsTaken) {
  EXPECT_EQ(
      ReadErrors("errors_total{pci=\"0:4b:00.0\"} 3\nerrors_total{pci=\"0:4b:00.0\"} 4\n").error,
      "exporter x shows several values of errors_total with pci=\"0000:4b:00.0\"");
}

TEST(MetricReading, OfSeveralRowsThatSayTheSameIsWhatTheySay) {
  EXPECT_EQ(ReadErrors("errors_total{pci=\"0:4b:00.0\",GPU_I_ID=\"1\"} 3\n"
                       "errors_total{pci=\"0:4b:00.0\",GPU_I_ID=\"2\"} 3\n")
                .value,
            3);
}

TEST(MetricReading, OfAValueThatIsNoneIsAnError) {
  const auto error = [](const std::string& value) {
    return ReadErrors("errors_total{pci=\"0:4b:00.0\"} " + value + "\n").error;
  };
  EXPECT_EQ(error("NaN"), "errors_total of exporter x is nan");
  EXPECT_EQ(error("+Inf"), "errors_total of exporter x is inf");
  EXPECT_EQ(error("-1"), "errors_total of exporter x counts -1");
  EXPECT_EQ(error("1001"), "errors_total of exporter x is 1001, which is not a number up to 1000");
}

TEST(MetricReading, OfADeviceWithoutWhatItIsFoundByIsAnError) {
  EXPECT_EQ(ReadErrors("errors_total 1\n", false, {"d", {}}).error, "the device has no {pci}");
}

}  // namespace
}  // namespace galen::probes
