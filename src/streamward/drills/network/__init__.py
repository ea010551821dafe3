"""Ways between the processes of a drill that it can spoil.

wire.py       a TCP port that leads to another one, until it is cut
ways.py       one for each thing that a runner needs
namespace.py  a network namespace of the drill's own
link.py       the only way out of one, whose packets the drill carries, delays and loses
plant.py      one of both for each runner
"""
