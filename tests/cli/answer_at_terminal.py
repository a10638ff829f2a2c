"""Runs a command at a terminal of its own and types the answers given, one for each question:

    python answer_at_terminal.py p,f,x,p -- COMMAND...

Prints what the terminal showed; the exit code is the command's. With fewer answers than questions, end of input is typed (Ctrl-D).
$TERMINAL_COLUMNS is its width; without it the terminal does not know one.
"""
import fcntl
import os
import pty
import struct
import sys
import termios

answers, command = sys.argv[1].split(","), sys.argv[sys.argv.index("--") + 1:]
child, terminal = pty.fork()
if child == 0:
    if "TERMINAL_COLUMNS" in os.environ:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(os.environ["TERMINAL_COLUMNS"]), 0, 0))
    os.execvp(command[0], command)
shown, asked = b"", 0
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:  # how a terminal ends
        break
    if not part:
        break
    shown += part
    while shown.count(b"[f]ail? ") > asked:
        os.write(terminal, (answers[asked] + "\n").encode() if asked < len(answers) else b"\x04")
        asked += 1
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
print(f"\n{asked} questions")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
