"""Code made at run time and freed again, so that its address is used by the next: each is one of its own."""
# calls: made_0=1 made_7=1 made_1999=1 evaluated=300

import gc


def evaluated(n):
    return n


for i in range(2000):
    namespace = {}
    exec("def made_%d(n):\n    return n + %d\n" % (i, i), namespace)
    assert namespace["made_%d" % i](1) == i + 1
    del namespace
for i in range(300):
    assert eval("evaluated(%d)" % i) == i
    if i % 100 == 0:
        gc.collect()
