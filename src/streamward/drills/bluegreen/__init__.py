"""Workers are replaced under a fleet that runs, and every picture that this costs is counted.

handovers.py  what each camera's passing on cost, pure
account.py    the figures, and what they are held against, pure
report.py     how both are shown
run.py        all of it together, with the fleet and consumer of the takeover drill
"""
