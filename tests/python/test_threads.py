"""Jobs beside each other, Ctrl-C, and the lock of the interpreter."""
import _thread
import concurrent.futures
import threading
import time

import numpy as np
import onnx_vernier as vernier
import pytest

from conftest import network


def test_two_jobs_in_two_threads(images):
    models = [network(seed) for seed in range(4)]
    alone = [vernier.diagnose(each, {"image": images}, low="int8", min_sqnr=30) for each in models]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        beside = list(pool.map(lambda each: vernier.diagnose(each, {"image": images}, low="int8", min_sqnr=30), models))
    for one, other in zip(alone, beside):
        assert one.kept_layers == other.kept_layers and one.final_figures == other.final_figures


def test_python_goes_on_meanwhile(model, images):
    turns = []
    ended = threading.Event()

    def count():
        while not ended.is_set():
            turns.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        vernier.diagnose(model, {"image": np.tile(images, (20, 1, 1, 1, 1))}, low="int8", min_sqnr=30)
    finally:
        ended.set()
        thread.join()
    assert len(turns) > 20


def slow_samples(started):
    random = np.random.default_rng(0)

    def at(index):
        started.set()
        time.sleep(0.02)
        return {"image": random.normal(size=(1, 3, 8, 8)).astype(np.float32) if index < 0 else
                np.full((1, 3, 8, 8), index / 500, np.float32)}

    return vernier.Samples(500, at)


def test_ctrl_c_stops_within_a_second(model):
    started = threading.Event()

    def interrupt():
        started.wait(60)
        time.sleep(0.3)
        times.append(time.monotonic())
        _thread.interrupt_main()

    times = []
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt) as stopped:
        vernier.diagnose(model, slow_samples(started), low="int8", min_sqnr=30, cross_fit=False)
    assert stopped.value.report.interrupted is True
    ended = time.monotonic()
    thread.join()
    assert ended - times[0] < 10  # a second on an idle machine; what is asserted is that it does not go on to the end


def test_an_exception_of_progress_ends_the_job(model, images):
    class Enough(Exception):
        pass

    def progress(text, done, total):
        raise Enough(text)

    with pytest.raises(Enough):
        vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=30, progress=progress)


def test_stopping_one_job_leaves_the_other(model, images):
    started = threading.Event()
    results = {}

    def go_on():
        results["other"] = vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=30)

    class Enough(Exception):
        pass

    def progress(text, done, total):
        if done > 3:
            raise Enough

    others = [threading.Thread(target=go_on) for _ in range(3)]
    for thread in others:
        thread.start()
    for _ in range(5):
        with pytest.raises(Enough):
            vernier.diagnose(model, slow_samples(started), low="int8", progress=progress, cross_fit=False)
    for thread in others:
        thread.join()
    assert results["other"].passed is True
