"""The reference for redirects: nginx with one worker, `return 302` from a map of the same slugs, and an access log."""

import contextlib
from pathlib import Path

from bench.seed import destination_of, slug_of
from bench.servers import SERVER_CORE, Server, free_port, started

_CONF = """
worker_processes 1; daemon off; pid {directory}/pid; error_log stderr;
events {{ worker_connections 1024; }}
http {{
  access_log {directory}/access.log combined;
  keepalive_requests 1000000000;
  map_hash_max_size {size}; map_hash_bucket_size 256;
  map $uri $destination {{ default ""; include {directory}/map; }}
  server {{
    listen 127.0.0.1:{port};
    {more}
    location / {{ if ($destination = "") {{ return 404; }} return 302 $destination; }}
  }}
}}
"""


def nginx(directory: Path, slugs: int, more: str = "") -> contextlib.AbstractContextManager[Server]:
    """`more`: further lines of its `server` block."""
    port = free_port()
    with (directory / "map").open("w") as lines:
        lines.writelines(f"/{slug_of(number)} {destination_of(number)};\n" for number in range(slugs))
    conf = directory / "nginx.conf"
    conf.write_text(_CONF.format(directory=directory, port=port, size=max(10_000, slugs * 4), more=more))
    command = ["nginx", "-c", str(conf), "-e", "stderr"]
    ready = f"/{slug_of(0)}"
    return started("nginx", command, port=port, ready=ready, cores=SERVER_CORE, directory=directory)
