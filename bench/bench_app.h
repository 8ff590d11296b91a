// galen-bench: measures the parts that are asked for, one after the other, and shows the figures.
// Each part runs real processes on this machine, so nothing else should; it takes a few minutes.
#pragma once

namespace galen::bench {

// Blocks until all parts are done or a signal came. The exit code: 0 when every goal was met
// (with --ignore-times: every one that is not a time), 1 when one was not or a part could not be
// measured, 64 for a wrong command line. Figures go to standard output, progress to standard error.
// Called as a measurement's own driver or reader, it is that process instead.
int RunBench(int argc, char** argv);

}  // namespace galen::bench
