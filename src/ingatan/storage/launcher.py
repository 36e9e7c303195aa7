"""Becomes a PostgreSQL program that dies with its parent. Run as a script, before anything of ours is imported.

Arguments: parent's process id, user id and group id to become (-1: stay), data directory, program, its arguments. In
those, ``{data}`` stands for a path to the data directory that works for the new user even below directories that user
may not enter.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Drop to the user, ask for SIGINT (fast shutdown) on the parent's death, become the program."""
    parent, user, group = (int(argument) for argument in sys.argv[1:4])
    data, program = sys.argv[4:6]
    if user >= 0:
        directory = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
        os.set_inheritable(directory, True)
        data = f"/proc/self/fd/{directory}"
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
    os.umask(0o077)
    if sys.platform == "linux":
        # After setuid, which clears it.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)
    os.execv(program, [program, *(argument.replace("{data}", data) for argument in sys.argv[6:])])


if __name__ == "__main__":
    main()
