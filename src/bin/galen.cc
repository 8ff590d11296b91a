// galen: the command line.
#include "base/environment.h"
#include "cli/commands/app.h"

int main(int argc, char** argv) {
  return galen::cli::RunGalen(argc, argv, galen::ReadEnvironment());
}
