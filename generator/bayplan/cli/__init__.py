"""The command line: files, arguments, exit codes and colours exist only here. One file per command."""
