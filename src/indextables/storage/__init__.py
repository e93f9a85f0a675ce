"""Object stores behind one small protocol: what a table needs of S3, Azure, GCS, a local disk or memory."""

from indextables.storage.store import ObjectMeta, Store, StoredObject

__all__ = ["ObjectMeta", "Store", "StoredObject"]
