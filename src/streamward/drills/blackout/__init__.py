"""The control plane is away for longer than leases last: Workers stop in time, or go on and the fence decides later.

witness.py  what was heard of the cameras, pure
account.py  the figures, and what they are held against, pure
report.py   how both are shown
run.py      all of it together, with the fleet, consumer and ledger of the takeover drill
"""
