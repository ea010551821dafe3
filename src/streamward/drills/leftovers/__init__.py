"""Any process of a runner is killed (−9) at a random moment, and what is left of it is looked for.

sockets.py  which sockets processes have, from what the kernel tells
account.py  the figures, and what they are held against, pure
report.py   how both are shown
run.py      all of it together, with the fleet and consumer of the takeover drill
"""
