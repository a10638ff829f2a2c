"""What the records of benchmarks say of the machine."""
import platform


def processor():
    """The name of the CPU, as Linux has it."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
