"""One of three Weaviate nodes is killed and comes back, until its own copy has caught up.

python -m tests.bench.cluster
"""

from __future__ import annotations

import asyncio
import time

from tests.connectors.index.test_weaviate_cluster import lose_a_node

if __name__ == "__main__":
    began = time.perf_counter()
    asyncio.run(lose_a_node(to_the_end=True))
    print(f"nothing lost and nothing back; {time.perf_counter() - began:.0f} s until the last copy agreed")
