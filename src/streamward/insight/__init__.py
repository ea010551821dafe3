"""Event → batch → analysis: what was seen on a camera in one stretch of time, told once as a whole.

batch.py       when a batch opens, what joins it, when it is full, due, sealed
urgency.py     what cannot wait for its batch
rules.py       the numbers, the installation's and a tenant's
analysis.py    what is said of a closed batch, by whom, and what is counted in it
summary.py     the analyst that needs nobody: counts, and a risk by rules
store.py       what is asked of the database, which is the truth, and of the index of open batches
records.py     what can be read of it all afterwards
broadcasts.py  what whoever listens is told
database.py    all of what the database is asked, in one
"""
