"""The warm session, which replaces sessions that scripts build."""

import importlib
import os
import re
import threading
from collections.abc import Callable
from typing import Any, Self

from .round_trips import keep_rows, save_round_trips

_RETRIES = 4
_GOODBYE = 5.0
"""Seconds that an unresponsive server gets to release the session."""
ZONE = "spark.sql.session.timeZone"
PARTITIONS = "spark.sql.shuffle.partitions"
INPUT_PARTITIONS = "spark.sql.leafNodeDefaultParallelism"
_SPEED = {
    PARTITIONS,
    INPUT_PARTITIONS,
    "spark.sql.adaptive.enabled",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.codegen.wholeStage",
    "spark.sql.codegen.factoryMode",
}
"""Settings that affect only the speed of a plan; values set by the team are ignored."""


def load_spark() -> None:
    """Imports the client, which takes a second."""
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # functions of pyspark read this
    importlib.import_module("pyspark.sql.connect.session")


class WarmSession:
    """A client session of the warm server. Inside its `with` block, `SparkSession.builder` returns it.

    Operations that need a classic Spark are tolerated: master and JVM options are ignored, and `stop` and
    `sparkContext.setLogLevel` do nothing.
    """

    def __init__(self, remote: str, *, resolve_paths: bool) -> None:
        from pyspark.sql.connect.session import SparkSession

        self._connect: Callable[[], Any] = SparkSession.builder.remote(remote).create
        self._stop: Callable[[Any], None] = SparkSession.stop
        self._partitions = 1
        self._resolve_paths = resolve_paths
        self.spark = self._connected()

    def _connected(self) -> Any:
        spark = self._connect()
        if self._resolve_paths:  # the harness's own server: if it dies, this is detected at once and it is restarted
            from pyspark.sql.connect.client.retries import DefaultPolicy

            spark.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
        return spark

    def renew(self) -> None:
        """Replaces the session, so that settings and views of one program do not reach the next."""
        self._release()
        self.spark = self._connected()

    def __enter__(self) -> Self:
        from pyspark.sql import SparkSession as Classic
        from pyspark.sql.connect.session import SparkSession as Remote

        def get_or_create(builder: Any) -> Any:
            wanted = {
                name: value
                for name, value in builder._options.items()
                if name.startswith("spark.sql.") and name not in _SPEED
            }
            if wanted:
                self.spark.conf._set_all(configs=wanted, silent=True)
            return self.spark

        patched: Any
        for patched in (Classic.Builder, Remote.Builder):
            patched.getOrCreate = patched.create = get_or_create
        for patched in (Classic, Remote):
            patched.getActiveSession = patched.active = classmethod(lambda _: self.spark)
            patched.stop = lambda _: None
        patched.sparkContext = _Context()
        self._spread(Remote)
        save_round_trips()
        if self._resolve_paths:
            _resolve_paths()
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    def _release(self) -> None:
        goodbye = threading.Thread(target=self._stop, args=(self.spark,), daemon=True)
        goodbye.start()
        goodbye.join(_GOODBYE)

    def _spread(self, session: Any) -> None:
        """Puts frames created from local data in one partition unless more are requested, which avoids a shuffle."""
        plain = session.createDataFrame

        def create(spark: Any, *arguments: Any, **options: Any) -> Any:
            source = plain(spark, *arguments, **options)
            frame = source.coalesce(1) if self._partitions == 1 else source
            keep_rows(frame, source)
            return frame

        session.createDataFrame = create

    def reset(self, zone: str = "UTC", partitions: int = 1) -> None:
        """Resets settings that an item may have changed; frames and shuffles get `partitions` partitions."""
        self._partitions = partitions
        self.spark.conf._set_all(
            configs={ZONE: zone, PARTITIONS: str(partitions), INPUT_PARTITIONS: str(partitions)}, silent=False
        )


class _Context:
    """The part of `spark.sparkContext` that scripts commonly use."""

    version = "connect"

    def setLogLevel(self, level: str) -> None:  # noqa: N802 - Spark's name
        """Does nothing, because the log belongs to the server."""


def _resolve_paths() -> None:
    """Makes relative paths relative to this process's folder, as without a server."""
    from pyspark.sql.connect.readwriter import DataFrameReader, DataFrameWriter

    for owner, name in ((DataFrameReader, "load"), (DataFrameWriter, "save")):
        plain = getattr(owner, name)

        def with_paths(self: Any, path: Any = None, *rest: Any, _plain: Any = plain, **options: Any) -> Any:
            several = isinstance(path, list | tuple)
            return _plain(self, [_local(one) for one in path] if several else _local(path), *rest, **options)

        setattr(owner, name, with_paths)


def _local(path: Any) -> Any:
    is_local = isinstance(path, str) and not re.match(r"[A-Za-z][\w+.-]*:", path)
    return os.path.abspath(path) if is_local else path  # noqa: PTH100 - symbolic links stay as they are
