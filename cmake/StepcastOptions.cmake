# One INTERFACE target carries warnings and sanitizers; global flag variables stay untouched.
add_library(stepcast_flags INTERFACE)
add_library(stepcast::flags ALIAS stepcast_flags)
target_compile_options(stepcast_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  -Woverloaded-virtual -Wno-missing-field-initializers
  $<$<BOOL:${STEPCAST_WERROR}>:-Werror>)
if(STEPCAST_SANITIZE)
  target_compile_options(stepcast_flags INTERFACE
    -fsanitize=${STEPCAST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(stepcast_flags INTERFACE -fsanitize=${STEPCAST_SANITIZE})
endif()
