"""The optional C extension; everything else is in pyproject.toml.

Builds with the GIL use the limited API, so that one wheel serves Python 3.11 and all later versions; free-threaded
builds, which have no limited API, use the full one. MERCER_PURE=1 leaves the extension out: the wheel is then pure
Python and runs everywhere.
"""

import os
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")
OLDEST = 0x030B0000  # Python 3.11
FLAGS = {"msvc": ["/O2"], "unix": ["-O3", "-fno-trapping-math", "-fno-math-errno"]}


class Build(build_ext):
    """Choose the flags by the compiler."""

    def build_extension(self, extension):
        extension.extra_compile_args = FLAGS.get(self.compiler.compiler_type, [])
        super().build_extension(extension)


native = Extension(
    "mercer._core._native",
    ["src/mercer/_core/_native.c"],
    define_macros=[("Py_LIMITED_API", f"0x{OLDEST:08X}")] if LIMITED else [],
    py_limited_api=LIMITED,
    optional=True,  # without a compiler mercer installs all the same and works in NumPy
)

setup(
    ext_modules=[] if os.environ.get("MERCER_PURE") == "1" else [native],
    cmdclass={"build_ext": Build},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
