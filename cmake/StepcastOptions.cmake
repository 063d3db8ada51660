# One INTERFACE target carries warnings and sanitizers; global flag variables stay untouched.
add_library(stepcast_flags INTERFACE)
add_library(stepcast::flags ALIAS stepcast_flags)
target_compile_options(stepcast_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  -Woverloaded-virtual -Wno-missing-field-initializers
  # GCC 12 sees overlapping copies in "text" + std::string (GCC bug 105329, fixed in 13).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${STEPCAST_WERROR}>:-Werror>)
if(STEPCAST_SANITIZE)
  target_compile_options(stepcast_flags INTERFACE
    -fsanitize=${STEPCAST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(stepcast_flags INTERFACE -fsanitize=${STEPCAST_SANITIZE})
endif()
