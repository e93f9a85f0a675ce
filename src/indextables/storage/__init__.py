"""Object stores behind one small protocol: what a table needs of S3, Azure, GCS, a local disk or memory.

store.py      the protocol
location.py   which place a URL means            resolve.py   URL and options → StoreSpec → Store
keys.py       what a key may look like            mapping.py   errors of the layers below → ours
local.py      a local disk (durable.py, walk.py)  remote.py    everything else, by obstore (clients.py)
retrying.py, counting.py, faulty.py               wrappers
"""

from indextables.storage.resolve import StoreSpec, resolve
from indextables.storage.store import ObjectMeta, Store, StoredObject

__all__ = ["ObjectMeta", "Store", "StoreSpec", "StoredObject", "resolve"]
