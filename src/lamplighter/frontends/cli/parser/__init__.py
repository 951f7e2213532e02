"""Words on the command line: what they ask for, what help and TAB say of them, what was probably meant."""
