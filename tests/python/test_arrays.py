"""What arrays may look like, and that nothing is kept of them."""
import gc
import sys
import weakref

import numpy as np
import onnx_vernier as vernier
import pytest


def all_low(model, samples):
    return vernier.diagnose(model, samples, low="int8", cross_fit=False).all_low


def test_strides_order_and_read_only(model, images):
    expected = all_low(model, {"image": images})
    wide = np.zeros((12, 1, 3, 8, 16), np.float32)
    wide[..., ::2] = images
    frozen = images.copy()
    frozen.flags.writeable = False
    for given in (wide[..., ::2], np.asfortranarray(images), frozen, images[::-1][::-1], images.astype(">f4")):
        assert all_low(model, {"image": given}) == expected


def test_types(model, images):
    assert all_low(model, {"image": images.astype(np.float64)}) == all_low(model, {"image": images})
    whole = np.abs(np.round(images * 10))
    assert all_low(model, {"image": whole.astype(np.uint8)}) == all_low(model, {"image": whole})
    with pytest.raises(vernier.InputError, match="wants float32, the array is int8"):
        all_low(model, {"image": whole.astype(np.int8)})
    with pytest.raises(TypeError, match="not a tensor"):
        all_low(model, {"image": np.array([object()])})
    with pytest.raises(vernier.InputError, match="complex64"):
        all_low(model, {"image": images.astype(np.complex64)})


def test_wrong_shapes_and_names(model, images):
    with pytest.raises(vernier.InputError, match="image.*3x8x8|3x8x8.*image"):
        all_low(model, {"image": images[..., :7]})
    with pytest.raises(vernier.InputError, match="image"):
        all_low(model, {"picture": images})
    with pytest.raises(vernier.InputError, match="no samples"):
        all_low(model, [])
    with pytest.raises(vernier.InputError, match="NaN in the inputs"):
        all_low(model, {"image": np.full_like(images, np.nan)})


def test_samples_are_not_copied(model, images):
    """A job's memory does not hold a second copy of the samples: the bytes that it reads are the array's."""
    seen = []
    listed = [np.ascontiguousarray(image) for image in images]
    addresses = {array.__array_interface__["data"][0] for array in listed}

    def at(index):
        seen.append(listed[index])
        return {"image": listed[index]}

    vernier.diagnose(model, vernier.Samples(12, at), low="int8", cross_fit=False)
    assert {array.__array_interface__["data"][0] for array in seen} == addresses


def test_nothing_is_kept(model, images):
    array = images.copy()
    gone = weakref.ref(array)
    before = sys.getrefcount(array)
    report = vernier.diagnose(model, {"image": array}, low="int8")
    assert sys.getrefcount(array) == before
    listed = [{"image": image.copy()} for image in images]
    arrays = [weakref.ref(sample["image"]) for sample in listed]
    vernier.diagnose(model, listed, low="int8")
    del listed, array
    gc.collect()
    assert gone() is None and all(each() is None for each in arrays)
    assert report.passed is None


def test_ten_thousand_calls_leave_nothing():
    values = np.linspace(-3, 3, 64, dtype=np.float32)
    vernier.formats.round(values, "int8")
    gc.collect()
    objects = len(gc.get_objects())
    before = sys.getrefcount(values)
    for _ in range(10_000):
        vernier.formats.round(values, "int8", scale=0.1)
        vernier.formats.sqnr_db(values, values)
    gc.collect()
    assert sys.getrefcount(values) == before
    assert len(gc.get_objects()) < objects + 50
