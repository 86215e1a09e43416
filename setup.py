"""The optional C extension; everything else is in pyproject.toml."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "mercer._core._native",
            ["src/mercer/_core/_native.c"],
            extra_compile_args=["-O3", "-fno-trapping-math", "-fno-math-errno"],
            optional=True,  # without a compiler mercer installs all the same and works in NumPy
        )
    ]
)
