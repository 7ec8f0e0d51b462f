"""A fit and its predictions on a Spark Connect session, in a process of its own: one process has one kind of session.

    python on_connect.py ROWS.npz FOUND.npz MODEL
"""

import sys
import warnings

import numpy as np
from pyspark.ml.functions import array_to_vector
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lazyglm.spark import LazyGLMClassificationModel, LazyGLMClassifier


def main(given, found, saved):
    warnings.simplefilter("ignore")
    with np.load(given) as file:
        X, y = file["X"], file["y"]
    builder = SparkSession.builder.remote("local[2]")
    spark = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
    rows = [(i, x.tolist(), float(label)) for i, (x, label) in enumerate(zip(X, y, strict=True))]
    rows = spark.createDataFrame(rows, "row int, x array<double>, label double").coalesce(1)
    rows = rows.withColumn("features", array_to_vector(F.col("x"))).cache()
    short = {"maxIter": 1, "tol": 0.0, "fitIntercept": False, "standardization": False}
    model = LazyGLMClassifier(**short, regParam=1e-3, elasticNetParam=0.5).fit(rows)
    model.save(saved)
    again = LazyGLMClassificationModel.load(saved)
    classes = [row.prediction for row in again.transform(rows).orderBy("row").collect()]
    np.savez(found, kind=type(spark).__module__, weights=model.coefficients.toArray(), bias=model.intercept, classes=classes)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
