# Run by cpack before it makes the packages: what each Debian package has to have, and nothing twice.
file(GLOB trees ${CPACK_TEMPORARY_DIRECTORY}/*)
foreach(tree IN LISTS trees)
  get_filename_component(name ${tree} NAME)
  set(docs ${tree}/usr/share/doc/${name})
  file(MAKE_DIRECTORY ${docs})
  file(REMOVE ${docs}/LICENSE)  # the copyright file names it
  file(COPY ${CPACK_FABRICAST_MADE}/copyright ${CPACK_FABRICAST_MADE}/changelog DESTINATION ${docs}
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  execute_process(COMMAND gzip -9nf ${docs}/changelog COMMAND_ERROR_IS_FATAL ANY)
  # Whatever the umask of whoever builds it.
  execute_process(COMMAND chmod -R u=rwX,go=rX ${tree} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
