"""Fits of the partitions of a Spark data frame, added by ``merge``, against one fit on all rows."""

import os
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

import mercer
from mercer.eigen import Landmarks
from mercer.kernels import RBF

X = np.random.default_rng(0).standard_normal((6000, 4))
KERNEL = RBF("median").bind(X[:1000])
Z = mercer.landmarks(KERNEL, X[:1000], 100, random_state=0)


def fit(rows):
    """Return a model on the shared landmarks."""
    return mercer.KernelPCA(3, kernel=KERNEL, solver=Landmarks(choose=Z)).fit(rows)


def fit_partition(batches):
    """Yield the file of a model that was fitted on an iterator of record batches."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part.mercer")
        mercer.save(fit(batches), path)
        with open(path, "rb") as file:
            yield pa.RecordBatch.from_pydict({"model": [file.read()]})


def merged(parts):
    """Return the sum of the models in these files, given as bytes."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{i}.mercer") for i in range(len(parts))]
        for path, content in zip(paths, parts, strict=True):
            with open(path, "wb") as file:
                file.write(content)
        return mercer.merge(map(mercer.load, paths))


def main():
    """Compare the variances."""
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    frame = spark.createDataFrame(pd.DataFrame(X, columns=list("abcd"))).repartition(4)
    parts = [bytes(row.model) for row in frame.mapInArrow(fit_partition, "model binary").collect()]
    spark.stop()
    np.testing.assert_allclose(merged(parts).explained_variance_, fit(X).explained_variance_, rtol=1e-12)
    print("mapInArrow on Spark, added by merge: the same model as one fit")


if __name__ == "__main__":
    main()
