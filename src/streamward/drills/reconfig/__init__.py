"""Cameras are added, changed and removed in a fleet that runs; the others must not notice.

frames.py   which pictures of a camera were lost, pure
account.py  the figures, and what they are held against, pure
report.py   how both are shown
run.py      all of it together, with the fleet and consumer of the takeover drill
"""
