"""Greenlets that switch among each other in mid-call."""
# calls: player=2 step=20 scheduler=1 raising=1 recursive=60/3
# needs: greenlet
# alone: cProfile keeps one stack for all greenlets

import greenlet


def step():
    pass


def player(turns):
    for _ in range(turns):
        step()
        other = right if greenlet.getcurrent() is left else left
        if not other.dead:
            other.switch(turns)


def raising():
    raise ValueError("through a switch")


def recursive(n, parent):
    if n == 0:
        parent.switch()
    else:
        recursive(n - 1, parent)


def scheduler():
    runs = [greenlet.greenlet(recursive) for _ in range(3)]
    for run in runs:
        run.switch(19, greenlet.getcurrent())
    for run in runs:
        run.switch()


left = greenlet.greenlet(player)
right = greenlet.greenlet(player)
left.switch(10)
while not (left.dead and right.dead):
    (right if left.dead else left).switch(10)
scheduler()
try:
    greenlet.greenlet(raising).switch()
except ValueError:
    pass
