"""`streamward drill scale`: a thousand cameras without pictures, and what leases, control plane and bus make of them.

layout.py   which cameras, sites, tenants and runners there are, pure
pages.py    what Prometheus would read, pure
account.py  the figures, and what they are held against, pure
report.py   how both are shown
fleet.py    the processes
hearing.py  the consumer that hears of the cameras
meter.py    what the processes use, and what the control plane was asked meanwhile
run.py      all of it together
"""
