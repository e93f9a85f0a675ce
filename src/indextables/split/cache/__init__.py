"""The indexes of splits on local disk, shared by all processes of one user.

options ──cache_location──▶ IndexCache ──acquire──▶ Lease(directory)
│
├─▶ held by this process: a further lease
├─▶ an entry on disk: locked, checked, leased
└─▶ fetched into a room, verified, renamed to an entry; the oldest entries leave

index_cache.py       `IndexCache`: acquire, prewarm, flush, contents, statistics
cache_location.py    options → the `IndexCache` of this process
lease.py             `Lease`, and what this process holds; one thread at a time fetches a split
cache_results.py     `CacheStatistics`, `CacheContents`, `WarmUp`, `Prewarmed`
cache_directory.py   `CacheDisk`: rooms, entries and their way from one to the other
eviction.py          which entries leave when space is needed
cache_layout.py      the directories, and listings of them
gate.py              the lock between processes, and the count of bytes
cache_entry.py       `Wanted`: the name and files of one entry, and how they are verified
lease_file.py        what the lease file of an entry says
file_lock.py         locks on files that end with their process
"""
