"""Bad weather that is no reason to take a camera from its runner: loss, delay, a control plane that stalls, no rest.

account.py  the figures, and what they are held against, pure
report.py   how both are shown
run.py      all of it together, with the fleet and consumer of the takeover drill
"""
