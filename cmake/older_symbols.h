/* Included in front of every source of what goes to other machines. What GCC 12 and newer link by a version that libstdc++ has since GCC 12
   alone is there under an older version, too; with it wheels and archives made on Debian 12 run where libstdc++ is GCC 11's (RHEL 9,
   Amazon Linux 2023). */
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
