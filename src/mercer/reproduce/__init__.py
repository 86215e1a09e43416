"""The papers' tables and figures, made again: each module has ``run(out, quick=False, …)``, which fills a folder."""
