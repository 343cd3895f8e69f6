"""How long a task of Tez tries to fetch what another task has written on a host that does not answer any more."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.support.servers import OPENS, ROOT, free_port, hadoop_classpath, require_java_compiler, unpack

if TYPE_CHECKING:
    from pathlib import Path

TEZ_SITE = yaml.safe_load((ROOT / "roles/cluster/vars/main.yml").read_text())["__cluster_tez_site"]
# Tez's own client connects to a port, with some settings; it prints the milliseconds until it gives up.
PROBE = """
import java.net.URL;
import org.apache.hadoop.conf.Configuration;
import org.apache.tez.common.security.JobTokenSecretManager;
import org.apache.tez.http.HttpConnection;
import org.apache.tez.runtime.library.common.shuffle.ShuffleUtils;

class Probe {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration(false);
        for (int index = 1; index < arguments.length; index += 2)
            conf.set(arguments[index], arguments[index + 1]);
        var secrets = new JobTokenSecretManager(JobTokenSecretManager.createSecretKey(new byte[16]));
        var params = ShuffleUtils.getHttpConnectionParams(conf);
        long begin = System.currentTimeMillis();
        try {
            new HttpConnection(new URL("http://127.0.0.1:" + arguments[0] + "/"), params, "probe", secrets).connect();
        } catch (java.io.IOException error) {
            System.out.println(System.currentTimeMillis() - begin);
        }
    }
}
"""


def given_up(products: Path, hadoop: Path, directory: Path, settings: dict[str, object]) -> float:
    """The seconds after which a silent port is taken for gone; more than 20 end the test with TimeoutExpired."""
    require_java_compiler()
    source = directory / "Probe.java"
    source.write_text(PROBE)
    tez = unpack("tez", products)
    classpath = os.pathsep.join([f"{tez}/*", f"{tez}/lib/*", *hadoop_classpath(hadoop, logging=False)])
    pairs = [text for name, value in settings.items() for text in (name, str(value))]
    argv = ["java", *OPENS, "-cp", classpath, str(source), str(free_port()), *pairs]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20)
    return int(done.stdout) / 1000


def test_a_host_that_is_gone_is_given_up_soon(products: Path, hadoop_home: Path, tmp_path: Path) -> None:
    settings = {name: value for name, value in TEZ_SITE.items() if name.startswith("tez.runtime.shuffle.")}
    assert given_up(products, hadoop_home, tmp_path, settings) < 10


def test_upstream_would_wait_for_longer(products: Path, hadoop_home: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        given_up(products, hadoop_home, tmp_path, {})
