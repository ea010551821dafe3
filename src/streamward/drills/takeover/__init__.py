"""A control plane, a recorder and runners as real processes; runners are killed, frozen, cut off or drained in turn.

fleet.py    the processes
runner.py   one runner, and what can be done to it
desk.py     what an operator asks the control plane
ledger.py   what was heard of the cameras, and what the fence says of each detection, pure
stage.py    how every drill with a fleet of its own is run
sink.py     the consumer that hears of them
parts.py    where the time of a takeover went, from the logs, pure
account.py  the figures, and what they are held against, pure
report.py   how both are shown
run.py      all of it together
"""
