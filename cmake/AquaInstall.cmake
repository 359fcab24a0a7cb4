# What `cmake --install` and CPack put where, in four components: library (the shared object),
# dev (headers, static library, CMake and pkg-config files), coordinator, tools.
include(CMakePackageConfigHelpers)
set(AQUA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/aqua)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/aqua TYPE INCLUDE COMPONENT dev)
foreach(form shared static)
  if(TARGET aqua_${form})
    install(TARGETS aqua_${form} EXPORT aqua_${form}
      LIBRARY COMPONENT library NAMELINK_COMPONENT dev
      ARCHIVE COMPONENT dev)
    install(EXPORT aqua_${form} NAMESPACE aqua:: FILE aqua-${form}.cmake
      DESTINATION ${AQUA_CMAKE_DIR} COMPONENT dev)
  endif()
endforeach()

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/aquaConfig.cmake.in ${PROJECT_BINARY_DIR}/aquaConfig.cmake
  INSTALL_DESTINATION ${AQUA_CMAKE_DIR} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/aquaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/aquaConfig.cmake ${PROJECT_BINARY_DIR}/aquaConfigVersion.cmake
  DESTINATION ${AQUA_CMAKE_DIR} COMPONENT dev)

# From where the .pc file lies to the prefix, so that an installed tree can be moved.
if(AQUA_WITH_CUDA)
  set(AQUA_PC_CUDA "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt ")
endif()
file(RELATIVE_PATH AQUA_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/aqua.pc.in ${PROJECT_BINARY_DIR}/aqua.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/aqua.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT dev)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME aqua)
set(CPACK_PACKAGE_VENDOR "the libaqua authors")
set(CPACK_PACKAGE_CONTACT "the libaqua authors <aqua@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library dev coordinator tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libaqua0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libaqua-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libaqua0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_COORDINATOR_PACKAGE_NAME aqua-coordinator)
set(CPACK_DEBIAN_COORDINATOR_PACKAGE_SECTION net)
if(AQUA_WITH_UCX)
  set(CPACK_DEBIAN_COORDINATOR_PACKAGE_SUGGESTS libucx0)  # loaded where a courier is to use it
endif()
foreach(script postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_COORDINATOR_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/coordinator/system/debian/${script})
endforeach()
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME aqua-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Elastic cross-GPU KV-cache offload: shared library")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Elastic cross-GPU KV-cache offload: headers and static library")
set(CPACK_COMPONENT_COORDINATOR_DESCRIPTION "Elastic cross-GPU KV-cache offload: the daemons of a server")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Elastic cross-GPU KV-cache offload: the aqua command")
include(CPack)
