# How a program gets what it asked for: it tells its question, and the answer lies in the shared file.
REPLY = 4  # a pipe: where in the shared file the answer to a question is, "offset size\n"


def answer():
    """The answer to what was told last, once it is there. Ends when nobody is left to give it."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(REPLY, 1)
        if not byte:
            leave(1)
        line += byte
    offset, size = [int(number) for number in line.split()]
    return json.loads(read(offset, size).decode("utf-8"))


def read(offset, size):
    parts = []
    while size > 0:
        part = os.pread(DATA, min(size, 1 << 30), offset)
        if not part:
            break
        parts.append(part)
        offset, size = offset + len(part), size - len(part)
    return b"".join(parts)


