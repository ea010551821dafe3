"""A control plane, a simulated recorder and a Worker as real processes, with a fault every few seconds.

plan.py     the faults in turn
plant.py    the processes
marked.py   the detector that the Worker uses: it tells which picture it was shown, and when
ledger.py   what was heard of the Worker, pure
account.py  the figures, and what they are held against, pure
report.py   how both are shown
run.py      all of it together
"""
