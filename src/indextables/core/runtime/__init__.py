"""State and threads of one process.

process_state.py    ProcessLocal (made anew in a forked child, by the one fork hook) and Lru (bounded cache, one loader a key)
threads.py          Workers: independent calls side by side; Pool and Inline
ordered_streams.py  several iterators read ahead by threads, results in order
cancellation.py     work that another thread may end, and the flag that loops over splits look at
memory.py           how much memory a cache may take
jobs.py             what runs in this process, and what ran last
cached_property.py  a property that is computed once for each object, without a lock
"""
