"""The search index of a split, kept by Tantivy.

batch ──▶ json_documents.py ──▶ index_files.py ──▶ files of an index ──▶ searcher.py ──▶ row_numbers.py

doc_mapping.py      which column is indexed how; stored in the log and in the footer
json_documents.py   Arrow batches → JSON documents for Tantivy
index_files.py      builds, opens and checks the directory of an index; analyzers
index_merge.py      indexes of several splits → one, without indexing rows again
searcher.py         Searcher: the methods of an open index that the package uses
row_numbers.py      hits of an index query → row numbers
loose_phrases.py    phrases whose words may be moved, as phrases that Tantivy finds
"""
