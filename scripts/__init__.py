"""What ./run, ./test and the Makefile share. Standard library only: all of it runs before there is an environment."""
