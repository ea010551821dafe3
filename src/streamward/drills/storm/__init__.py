"""`streamward drill dialstorm` and `drill reboot`: many cameras of one recorder want to be dialed at once.

account.py   the dials as the recorder counted them, held against the site's budget
run.py       the drills
report.py    what people and programs read
"""
