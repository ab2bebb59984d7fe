"""Evaluates the string flag that each line of its input names, with the rpc provider and its cache. Prints value, reason and error code."""

import sys

from openfeature import api
from openfeature.contrib.provider.flagd import FlagdProvider
from openfeature.contrib.provider.flagd.config import CacheType, ResolverType

api.set_provider(
    FlagdProvider(
        resolver_type=ResolverType.RPC,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        stream_deadline_ms=int(sys.argv[2]),
        retry_backoff_ms=100,
        retry_backoff_max_ms=1000,
        deadline_ms=5000,
        cache=CacheType.LRU,
    )
)
client = api.get_client()
print("ready", flush=True)
for line in sys.stdin:
    details = client.get_string_details(line.strip(), "none")
    print(details.value, details.reason, details.error_code, flush=True)
api.shutdown()
