"""A control plane, a simulated recorder and runners as real processes; runners are killed, frozen or drained in turn.

fleet.py    the processes
ledger.py   what was heard of the cameras, and what the fence says of each detection, pure
parts.py    where the time of a takeover went, from the logs, pure
account.py  the figures, and what they are held against, pure
report.py   how both are shown
run.py      all of it together
"""
