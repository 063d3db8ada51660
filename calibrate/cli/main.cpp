#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "calibrate/cli/measure_command.hpp"
#include "sim/core/result.hpp"
#ifdef __GLIBC__
#include <malloc.h>
#endif

int main(int argc, char** argv) {
  using namespace stepcast;
#ifdef __GLIBC__
  // Measurements take and give back buffers of many MiB. Kept by the allocator their pages are
  // mapped once; mapped anew each time they cost a quick calibration a quarter of its CPU seconds.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  CLI::App app{
      "Measures a machine, or reads public tables, and writes cost profiles for stepcast."};
  app.require_subcommand(1);
  int exit_code = 0;
  calibrate::add_probe_command(app, exit_code);
  calibrate::add_measure_command(app, {argv, argv + argc}, exit_code);
  calibrate::add_fit_tables_command(app, exit_code);
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  } catch (const EnvironmentError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
    return 1;
  }
}
