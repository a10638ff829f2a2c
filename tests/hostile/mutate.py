"""Files with one thing wrong: bytes of any file, values and keys of JSON, fields of ONNX models. All by a seeded generator."""
import json

import onnx

EDGES = [0, 1, 2, 7, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -1, -2, -2**31, -2**63]


def of_bytes(random, data):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        if not data:
            return bytes(data)
        at, kind = random.randrange(len(data)), random.randrange(7)
        if kind == 0:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at:at + random.choice((1, 4, 64))]
        elif kind == 4:
            data[at:at] = data[at:at + random.choice((1, 4, 64))]
        elif kind == 5:
            size = random.choice((1, 2, 4, 8))
            data[at:at + size] = (random.choice(EDGES) % 256**size).to_bytes(size, random.choice(("little", "big")))
        else:
            data[at:at] = bytes(random.randrange(256) for _ in range(random.choice((1, 4, 64))))
    return bytes(data)


JSON_VALUES = ["1e400", "-1e400", "NaN", "Infinity", "null", "true", "[]", "{}", '""', '"x"', "-1", "0.5", "1e-320", "[[[]]]",
               '"\\u0000"', '"\\ud800"', "[1, 2]", '{"a": 1}', *map(str, EDGES)]


def places_of(value, place=()):
    """Every (container, key) below a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places_of(inner)


def of_json_text(random, text):
    try:
        document = json.loads(text)
    except ValueError:
        return of_bytes(random, text.encode())
    places = list(places_of(document))
    if not places:
        return of_bytes(random, text.encode())
    mark = "\0here\0"
    holder, key = random.choice(places)
    kind = random.randrange(4)
    if kind == 0 and isinstance(holder, dict):
        holder[str(key) + "x"] = holder.pop(key)
    elif kind == 1:
        del holder[key]
    elif kind == 2 and isinstance(holder, list):
        holder.extend([holder[key]] * random.choice((1, 1000)))
    else:
        holder[key] = mark
    return json.dumps(document).replace(json.dumps(mark), random.choice(JSON_VALUES)).encode()


def of_json(random, data):
    text = data.decode()
    lines = text.splitlines(keepends=True)
    if len(lines) > 1 and lines[0].lstrip().startswith("{") and lines[1].startswith("{"):  # a line each
        at = random.randrange(len(lines))
        lines[at] = of_json_text(random, lines[at]).decode(errors="replace") + "\n"
        return "".join(lines).encode()
    return of_json_text(random, text)


def messages_of(message):
    """The message and all that are in it."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                yield from messages_of(inner)


def of_scalar(random, field, value):
    if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
        text = random.choice((value[:-1], value + value, value[:0], value[::-1]))
        return text if field.type == field.TYPE_BYTES or "\0" not in text else ""
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return random.choice((0.0, -1.0, float("nan"), float("inf"), 1e-40, 3e38))
    if field.type == field.TYPE_ENUM:
        return random.choice([option.number for option in field.enum_type.values])
    low, high = {field.TYPE_INT32: (-2**31, 2**31), field.TYPE_UINT64: (0, 2**64)}.get(field.type, (-2**63, 2**63))
    return random.choice([edge for edge in EDGES if low <= edge < high])


def of_model(random, data):
    model = onnx.load_model_from_string(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        filled = [inner for inner in messages_of(model) if inner.ListFields()]
        if not filled:  # everything was deleted
            break
        message = random.choice(filled)
        field, value = random.choice(message.ListFields())
        if field.is_repeated:
            at, kind = random.randrange(len(value)), random.randrange(4)
            if kind == 0:
                del value[at]
            elif kind == 1:
                value.extend([value[at]])
            elif kind == 2 and len(value) > 1:  # another one of them
                other = value[random.randrange(len(value))]
                value[at].CopyFrom(other) if field.type == field.TYPE_MESSAGE else value.__setitem__(at, other)
            elif field.type != field.TYPE_MESSAGE:
                value[at] = of_scalar(random, field, value[at])
        elif field.type == field.TYPE_MESSAGE or random.random() < 0.2:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, of_scalar(random, field, value))
    return model.SerializeToString()


BY_END = {".onnx": (of_model, of_model, of_bytes), ".json": (of_json, of_bytes), ".jsonl": (of_json, of_bytes)}


def mutated(random, path, data):
    return random.choice(BY_END.get(path.suffix, (of_bytes,)))(random, data)
