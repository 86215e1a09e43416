"""The machine below the mathematics: tiles, threads, array libraries, Dask, the C extension, files, registries."""
