// galen-bench: measures the parts that are asked for, one after the other, and shows the figures.
#pragma once

namespace galen::bench {

// The exit code: 0 when every goal was met, 1 when one was not or a part could not be measured, 64
// for a wrong command line.
int RunBench(int argc, char** argv);

}  // namespace galen::bench
