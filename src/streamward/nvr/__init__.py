"""A simulated recorder: cameras with known truth, and every kind of misbehaviour on command."""
