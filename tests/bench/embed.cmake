# IN → OUT: a program as a C array.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "static const unsigned char floor_init[] = {${bytes}};\n")
