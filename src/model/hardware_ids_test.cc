#include "model/hardware_ids.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(HardwareIds, OnePciAddressIsTheSameInEveryForm) {
  for (const char* form : {"0000:9b:00.0", "0000:9B:00.0", "00000000:9B:00.0", "9b:00.0"}) {
    EXPECT_EQ(NormalPciAddress(form), "0000:9b:00.0") << form;
  }
}

TEST(HardwareIds, WhatIsNoPciAddressIsNone) {
  for (const char* text : {"", "gpu-0", "0000:4b:00", "0000:4g:00.0", "0000:4b:00.0 ",
                           "12340000:4b:00.0", "00000000:4B:00.01"}) {
    EXPECT_EQ(NormalPciAddress(text), "") << text;
  }
}

}  // namespace
}  // namespace galen
