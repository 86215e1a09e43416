"""The lowest layer: tiles, threads, array libraries, Dask, the C extension, files, registries."""
