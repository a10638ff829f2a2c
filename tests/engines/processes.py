"""Processes that a test started, however far down: they inherit MARK."""
import pathlib
import time


def marked(mark):
    """Those that run now, by their files in /proc."""
    def carries(place):
        try:
            return f"MARK={mark}\0".encode() in place.read_bytes()
        except OSError:
            return False
    return [place for place in pathlib.Path("/proc").glob("[0-9]*/environ") if carries(place)]


def left_behind(mark, patience=10):
    """Those that do not go. A process that was killed is there until the system comes to it, on a busy machine a while."""
    end = time.monotonic() + patience
    while (found := marked(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    return found
