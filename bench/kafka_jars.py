"""Apache Kafka's jars, fetched once by Maven into a cache folder outside the repository."""

import os
import shutil
import subprocess
from pathlib import Path

KAFKA_VERSION = "4.3.0"
LOG4J_VERSION = "2.24.3"
FETCH_TIMEOUT_S = 300.0
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inkless-bench" / f"kafka-{KAFKA_VERSION}"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>inkless.bench</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_WANTED = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J_VERSION),
    ("org.apache.logging.log4j", "log4j-core", LOG4J_VERSION),
)


def ensure() -> str | None:
    """Fetch what is missing; why Kafka can't be run here, or None."""
    if shutil.which("java") is None:
        return "there is no java"
    if (CACHE / "complete").exists():
        return None
    if shutil.which("mvn") is None:
        return "its jars are not in the cache and there is no mvn to fetch them"
    CACHE.mkdir(parents=True, exist_ok=True)
    rows = [
        f"    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
        for group, artifact, version in _WANTED
    ]
    (CACHE / "pom.xml").write_text(_POM.format(dependencies="\n".join(rows)))
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={CACHE / 'jars'}"]
    try:
        done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"mvn did not fetch its jars within {FETCH_TIMEOUT_S:.0f} s"
    if done.returncode:
        return f"mvn could not fetch its jars: {(done.stdout + done.stderr).strip()[-300:]}"
    (CACHE / "complete").touch()
    return None


def class_path() -> str:
    return f"{CACHE / 'jars'}/*"
