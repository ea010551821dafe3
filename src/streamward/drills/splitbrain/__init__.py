"""Two runners that both believe in a camera: renewals of one are cut off, or it sleeps through its leases and wakes up.

account.py  the figures, and what they are held against, pure
report.py   how both are shown
run.py      all of it together, with the fleet, consumer and ledger of the takeover drill
"""
