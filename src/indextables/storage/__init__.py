"""Objects on local disks, in memory, on S3, Azure and Google Cloud Storage, behind one protocol.

URL, options ──▶ location.py, resolve.py ──▶ StoreSpec (pickles) ──▶ Retrying(LocalStore or ObstoreStore)

store.py              Store: the protocol, with one meaning on every backend
location.py           which place a URL means
resolve.py            URL and options → StoreSpec → Store
object_keys.py        what a key may look like
error_translation.py  errors of operating system and obstore → our errors
local.py              a local disk
open_file.py          a file of a local disk that is kept open
durable.py            files that are whole or absent, and durable once written
walk.py               a directory tree listed in the order of keys
remote.py             everything else, by obstore
page_ahead.py         pages of a long listing, fetched while the page before is used
clients.py            obstore's clients, one for each bucket and configuration
retrying.py           repeats requests that may be repeated, and counts all of them
testing/              stores for tests
"""

from indextables.storage.resolve import StoreSpec, resolve
from indextables.storage.store import ObjectMeta, Store, StoredObject

__all__ = ["ObjectMeta", "Store", "StoreSpec", "StoredObject", "resolve"]
