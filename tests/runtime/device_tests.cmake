# Tests of executors, machine facts and the oneDNN backend. None depends on an ISA but through machine(), so each is one CTest entry,
# not one per ISA. saccade_device_test(NAME [LIBRARIES ...] [DEFINITIONS ...]) builds <name>_test.cc.
function(saccade_device_test name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;DEFINITIONS" ${ARGN})
  saccade_test_program(runtime_${name}_test ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.cc)
  target_link_libraries(runtime_${name}_test PRIVATE GTest::gtest_main Threads::Threads ${ARG_LIBRARIES})
  target_compile_definitions(runtime_${name}_test PRIVATE ${ARG_DEFINITIONS})
  add_test(NAME runtime_${name}_test.quick COMMAND runtime_${name}_test)
  set_tests_properties(runtime_${name}_test.quick PROPERTIES LABELS "quick" TIMEOUT 300)
endfunction()
set(device_tests executor_test.cc fork_test.cc machine_test.cc openmp_test.cc onednn_test.cc dlopen_test.cc)

set(openmp_library)
set(openmp_definition)
if(TARGET saccade_openmp)
  set(openmp_library saccade_openmp)
  set(openmp_definition SACCADE_TEST_OPENMP)
endif()

saccade_device_test(executor LIBRARIES saccade)
saccade_device_test(fork LIBRARIES saccade ${openmp_library} DEFINITIONS ${openmp_definition})

# machine_test calls the parsers, which the library hides, so it takes their sources.
set(execute ${PROJECT_SOURCE_DIR}/runtime/execute)
saccade_device_test(machine LIBRARIES saccade)
target_sources(runtime_machine_test PRIVATE ${execute}/machine_cache.cc ${execute}/machine_cgroup.cc ${execute}/machine_cpu.cc
                                            ${execute}/threads.cc)

if(TARGET saccade_openmp)
  saccade_device_test(openmp LIBRARIES saccade_openmp OpenMP::OpenMP_CXX)
  add_test(NAME runtime_openmp_test.limit_1.quick COMMAND runtime_openmp_test)
  set_tests_properties(runtime_openmp_test.limit_1.quick PROPERTIES LABELS "quick" TIMEOUT 300 ENVIRONMENT "OMP_THREAD_LIMIT=1")
endif()
if(TARGET saccade_onednn)
  saccade_device_test(onednn LIBRARIES saccade_onednn ${CMAKE_DL_LIBS})
endif()

# A plugin is a shared object around the library, shared or static.
function(saccade_test_module name)
  add_library(${name} MODULE ${CMAKE_CURRENT_SOURCE_DIR}/dlopen_module.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE saccade ${ARGN})
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  saccade_warnings(${name})
endfunction()
saccade_test_module(saccade_dlopen_module)
saccade_device_test(dlopen LIBRARIES ${CMAKE_DL_LIBS} DEFINITIONS SACCADE_TEST_MODULE="$<TARGET_FILE:saccade_dlopen_module>")
target_include_directories(runtime_dlopen_test PRIVATE $<TARGET_PROPERTY:saccade,INTERFACE_INCLUDE_DIRECTORIES>)
add_dependencies(runtime_dlopen_test saccade_dlopen_module)
if(TARGET saccade_openmp)
  saccade_test_module(saccade_dlopen_openmp_module saccade_openmp)
  target_compile_definitions(saccade_dlopen_openmp_module PRIVATE SACCADE_TEST_OPENMP)
  target_compile_definitions(runtime_dlopen_test PRIVATE
    SACCADE_TEST_OPENMP_MODULE="$<TARGET_FILE:saccade_dlopen_openmp_module>")
  add_dependencies(runtime_dlopen_test saccade_dlopen_openmp_module)
endif()
