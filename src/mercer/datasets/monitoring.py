"""Public sources of the data sets for monitoring: the tables of ADBench and the Tennessee Eastman process."""

import io
from collections.abc import Callable

import numpy as np

from .download import unzip

ADBENCH = (
    "https://raw.githubusercontent.com/Minqi824/ADBench/3dac8221081e190f157d78e93bfa8867f90d0965/"
    "adbench/datasets/Classical/"
)
EASTMAN = (
    "https://raw.githubusercontent.com/camaramm/tennessee-eastman-profBraatz/0643318858ce7c87292bd59820b459e12a13d009/"
)
FAULTS = range(1, 11)
FILES = {
    "annthyroid": "2_annthyroid",
    "celeba": "8_celeba",
    "glass": "14_glass",
    "http": "16_http",
    "landsat": "19_landsat",
    "letter": "20_letter",
    "mammography": "23_mammography",
    "musk": "25_musk",
    "pageblocks": "27_PageBlocks",
    "pendigits": "28_pendigits",
    "satimage2": "31_satimage-2",
    "shuttle": "32_shuttle",
    "skin": "33_skin",
    "thyroid": "38_thyroid",
    "vowels": "40_vowels",
    "waveform": "41_Waveform",
    "wdbc": "43_WDBC",
    "wilt": "44_Wilt",
    "wine": "45_wine",
}
DIGESTS = {  # of the arrays as float64, y as uint8
    "ad_annthyroid": "1e895a97ca9f6703347d8cf4f4a86e4570ce43acc47699d83ddf169d3529ab31",
    "ad_celeba": "ef41cfeb2a8b7c12fb15e2c4efb989a1cc931261bedb160fc3e034468b037275",
    "ad_glass": "90c2f470b0aad36f3ec8fafe57391172b75e10e150380ecd532589b460bfdbf3",
    "ad_http": "d15d12097c6ec65119f59a889747fe941bb7f4f382fcbc355a92213b7d7fa783",
    "ad_landsat": "8020d88f4faaa6cd41953d03e3b600cac8bb500022b61cf037468297cc7b0683",
    "ad_letter": "ac581444630401009c8b74fb76b7f1027f86f145b60395e13839627a62dc3324",
    "ad_mammography": "fe708666f7a7487fd5d73cd9b861c4074a73eb5ad19fe0cdec7ded4acfbdc9c4",
    "ad_musk": "b87be92abd750494cf8d18e53bd735f56163b39407c02675ef930c14fe8f0ba5",
    "ad_pageblocks": "a185d9c1b83e45e73ad016ce38bff9f0358998c70e9532743a4c9f92a7d7c53f",
    "ad_pendigits": "92e27b63ca7b9f022f5a054caec207f5ca7209358da39cef0fe4047804bb990e",
    "ad_satimage2": "b3efd9f1fc4d0dd6b1950aadc0949b18119d81b633d6b09b488f83d2bdfae07b",
    "ad_shuttle": "537f64d2aa91b2750b1c672012febd00176fe4c13573a25374ec448703029b69",
    "ad_skin": "30c5d59ab6522851909cfa06de842fc0118976bd4e9af08f6797de9009dd30c8",
    "ad_thyroid": "8c66198653105c91d1b13a1526a21b7278ba67d5131d91a0d416948b56c774cb",
    "ad_vowels": "5071a0a3b45ec59bc1221e6e97778a245e3fb22935843f4031f26b24db73726b",
    "ad_waveform": "86720a7bf092c116051a8b1ea7b8dd87fe232a0277c295f5542a0f5f22d4fd45",
    "ad_wdbc": "2e2d5e82666a4f97f34fbd07f7502b44fa23ab9cde221bf450e6cba7823207fd",
    "ad_wilt": "45b165b9bd3e3f6b88638da1b657484e73fdc8fe1455e1b7be7163251efb5c3f",
    "ad_wine": "d9dea3f02d8aa63f081458d5307f726ed9bcc147cd5939d788940c332f0682f9",
    "te": "6f6c9790ab4a166a011944322b0f5968857b4b8b590b5fb509039096ae1e87c2",
}

Arrays = dict[str, np.ndarray]
Read = Callable[[str], bytes]  # from a URL


def as_numbers(arrays: Arrays) -> Arrays:
    """Return the arrays with the types that the digests are of."""
    return {key: np.asarray(values, np.uint8 if key == "y" else float) for key, values in arrays.items()}


def table(name: str) -> Callable[[Read], Arrays]:
    """Return the function that reads a table of ADBench: ``X`` and ``y``, 1 for abnormal rows."""

    def arrays(read: Read) -> Arrays:
        found = unzip(read(f"{ADBENCH}{FILES[name]}.npz"))
        return as_numbers({"X": found["X"], "y": found["y"]})

    return arrays


def eastman(read: Read) -> Arrays:
    """Return two normal runs of the Tennessee Eastman process and ten with a fault that begins at row 160."""

    def run(name: str) -> np.ndarray:
        return np.loadtxt(io.BytesIO(read(f"{EASTMAN}{name}.dat")), ndmin=2)

    faults = {f"fault_{fault:02d}": run(f"d{fault:02d}_te") for fault in FAULTS}
    return {"X_train": run("d00").T, "X_test": run("d00_te"), **faults}  # the first file has a column for each row


SOURCES = {"te": eastman} | {f"ad_{name}": table(name) for name in FILES}
