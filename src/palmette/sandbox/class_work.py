"""Starts the Spark Connect server given as arguments, runs typical feature queries on it, and stops it.

Run by java.py in a sandbox and folder of its own: when the server ends, Java records the classes it used.
"""

import os
import re
import signal
import subprocess
import sys
import time
from typing import Any

ROWS = """
SELECT concat('s', id % 3) AS shop, date_add(DATE'2024-01-01', CAST(id AS int)) AS day,
       TIMESTAMP'2024-01-01 10:00:00' + make_interval(0, 0, 0, CAST(id AS int)) AS at,
       CAST(id * 1.5 AS decimal(10, 2)) AS amount, IF(id % 4 = 0, NULL, CAST(id AS double)) AS score,
       array('a', CAST(id AS string)) AS tags
FROM range(12)
"""
VIEW = """
WITH newest AS (
  SELECT shop, day FROM (SELECT *, row_number() OVER (PARTITION BY shop ORDER BY at DESC, amount) AS place FROM rows)
  WHERE place = 1
), summed AS (
  SELECT shop, sum(amount) AS amount, avg(score) AS mean, max(at) AS last, count(DISTINCT day) AS days,
         count(*) AS count, count_if(score > 2) AS high, collect_set(day) AS which, max_by(amount, at) AS latest
  FROM rows WHERE at BETWEEN '2024-01-01' AND '2024-02-01' AND score IS NOT NULL GROUP BY shop
), words AS (SELECT shop, tag, count(*) AS times FROM rows LATERAL VIEW explode(tags) AS tag GROUP BY shop, tag)
SELECT DISTINCT newest.*, summed.* EXCEPT (shop), coalesce(mean / CASE WHEN count != 0 THEN count END, 0.0) AS share,
       CASE WHEN datediff(DATE'2024-03-01', last) > 30 THEN 'old' WHEN last IS NULL THEN NULL ELSE 'new' END AS band,
       regexp_replace(lower(trim(shop)), 's', 'x') AS text
FROM newest LEFT JOIN summed USING (shop) JOIN words USING (shop) LEFT ANTI JOIN rows AS other ON other.score < 0
WHERE tag = 'a' ORDER BY shop
"""
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
}


def main() -> None:
    pattern, *command = sys.argv[1:]
    with open("log", "w+b", buffering=0) as log:  # noqa: PTH123 - the file is shared with the server
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
            from pyspark.sql.connect.session import SparkSession

            remote = f"sc://127.0.0.1:{_port(server, pattern)}/"
            for settings in ({}, COMPILED):
                session = SparkSession.builder.remote(remote).create()
                for name, value in settings.items():
                    session.conf.set(name, value)
                _ask(session)
                session.stop()
        finally:
            server.terminate()
            ended = server.wait()
    if ended not in (0, 128 + signal.SIGTERM):
        raise SystemExit(f"The server ended with exit status {ended}.")


def _port(server: subprocess.Popen[bytes], pattern: str) -> str:
    while server.poll() is None:
        with open("log", encoding="utf-8", errors="replace") as log:  # noqa: PTH123 - as above
            if found := re.search(pattern, log.read()):
                return found[1]
        time.sleep(0.05)
    raise SystemExit(f"The server ended with exit status {server.returncode}.")


def _ask(spark: Any) -> None:
    """Tables, files, joins, windows and aggregates as in feature views; the results are ignored."""
    made = spark.createDataFrame(spark.sql(ROWS).toArrow()).coalesce(1)
    place = os.path.abspath("rows")  # noqa: PTH100 - no link is followed
    made.write.mode("overwrite").parquet(place)
    spark.read.schema(made.schema).parquet(place).createOrReplaceTempView("rows")
    view = spark.sql(VIEW).fillna({"high": 0})
    view._explain_string(extended=True)
    view.unionByName(view.limit(1), allowMissingColumns=True).dropDuplicates(["shop", "band"]).collect()
    view.toArrow()
    view.count()


if __name__ == "__main__":
    main()
