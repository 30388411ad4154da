"""Functions of more than 256 bytes of bytecode, whose offsets Python boxes: return, yield, raise late."""
# calls: long=100 early=50 late_yield=33 late_raise=5


def long(a):
    b = 1
    b = a * 0 + b - 1
    b = a * 1 + b - 2
    b = a * 2 + b - 3
    b = a * 3 + b - 4
    b = a * 4 + b - 5
    b = a * 5 + b - 6
    b = a * 6 + b - 7
    b = a * 7 + b - 8
    b = a * 8 + b - 9
    b = a * 9 + b - 10
    b = a * 10 + b - 11
    b = a * 11 + b - 12
    b = a * 12 + b - 13
    b = a * 13 + b - 14
    b = a * 14 + b - 15
    b = a * 15 + b - 16
    b = a * 16 + b - 17
    b = a * 17 + b - 18
    b = a * 18 + b - 19
    b = a * 19 + b - 20
    b = a * 20 + b - 21
    b = a * 21 + b - 22
    b = a * 22 + b - 23
    b = a * 23 + b - 24
    b = a * 24 + b - 25
    b = a * 25 + b - 26
    b = a * 26 + b - 27
    b = a * 27 + b - 28
    b = a * 28 + b - 29
    b = a * 29 + b - 30
    b = a * 30 + b - 31
    b = a * 31 + b - 32
    b = a * 32 + b - 33
    b = a * 33 + b - 34
    b = a * 34 + b - 35
    b = a * 35 + b - 36
    b = a * 36 + b - 37
    b = a * 37 + b - 38
    b = a * 38 + b - 39
    b = a * 39 + b - 40
    return b


def early(a):
    b = 1
    if a % 2:
        return b
    b = a * 0 + b - 1
    b = a * 1 + b - 2
    b = a * 2 + b - 3
    b = a * 3 + b - 4
    b = a * 4 + b - 5
    b = a * 5 + b - 6
    b = a * 6 + b - 7
    b = a * 7 + b - 8
    b = a * 8 + b - 9
    b = a * 9 + b - 10
    b = a * 10 + b - 11
    b = a * 11 + b - 12
    b = a * 12 + b - 13
    b = a * 13 + b - 14
    b = a * 14 + b - 15
    b = a * 15 + b - 16
    b = a * 16 + b - 17
    b = a * 17 + b - 18
    b = a * 18 + b - 19
    b = a * 19 + b - 20
    b = a * 20 + b - 21
    b = a * 21 + b - 22
    b = a * 22 + b - 23
    b = a * 23 + b - 24
    b = a * 24 + b - 25
    b = a * 25 + b - 26
    b = a * 26 + b - 27
    b = a * 27 + b - 28
    b = a * 28 + b - 29
    b = a * 29 + b - 30
    if a % 4:
        return a
    b = a * 0 + b - 1
    b = a * 1 + b - 2
    b = a * 2 + b - 3
    b = a * 3 + b - 4
    b = a * 4 + b - 5
    b = a * 5 + b - 6
    b = a * 6 + b - 7
    b = a * 7 + b - 8
    b = a * 8 + b - 9
    b = a * 9 + b - 10
    return b


def late_yield(a):
    b = 1
    b = a * 0 + b - 1
    b = a * 1 + b - 2
    b = a * 2 + b - 3
    b = a * 3 + b - 4
    b = a * 4 + b - 5
    b = a * 5 + b - 6
    b = a * 6 + b - 7
    b = a * 7 + b - 8
    b = a * 8 + b - 9
    b = a * 9 + b - 10
    b = a * 10 + b - 11
    b = a * 11 + b - 12
    b = a * 12 + b - 13
    b = a * 13 + b - 14
    b = a * 14 + b - 15
    b = a * 15 + b - 16
    b = a * 16 + b - 17
    b = a * 17 + b - 18
    b = a * 18 + b - 19
    b = a * 19 + b - 20
    b = a * 20 + b - 21
    b = a * 21 + b - 22
    b = a * 22 + b - 23
    b = a * 23 + b - 24
    b = a * 24 + b - 25
    b = a * 25 + b - 26
    b = a * 26 + b - 27
    b = a * 27 + b - 28
    b = a * 28 + b - 29
    b = a * 29 + b - 30
    b = a * 30 + b - 31
    b = a * 31 + b - 32
    b = a * 32 + b - 33
    b = a * 33 + b - 34
    b = a * 34 + b - 35
    b = a * 35 + b - 36
    b = a * 36 + b - 37
    b = a * 37 + b - 38
    b = a * 38 + b - 39
    b = a * 39 + b - 40
    yield b
    yield b + 1


def late_raise(a):
    b = 1
    b = a * 0 + b - 1
    b = a * 1 + b - 2
    b = a * 2 + b - 3
    b = a * 3 + b - 4
    b = a * 4 + b - 5
    b = a * 5 + b - 6
    b = a * 6 + b - 7
    b = a * 7 + b - 8
    b = a * 8 + b - 9
    b = a * 9 + b - 10
    b = a * 10 + b - 11
    b = a * 11 + b - 12
    b = a * 12 + b - 13
    b = a * 13 + b - 14
    b = a * 14 + b - 15
    b = a * 15 + b - 16
    b = a * 16 + b - 17
    b = a * 17 + b - 18
    b = a * 18 + b - 19
    b = a * 19 + b - 20
    b = a * 20 + b - 21
    b = a * 21 + b - 22
    b = a * 22 + b - 23
    b = a * 23 + b - 24
    b = a * 24 + b - 25
    b = a * 25 + b - 26
    b = a * 26 + b - 27
    b = a * 27 + b - 28
    b = a * 28 + b - 29
    b = a * 29 + b - 30
    b = a * 30 + b - 31
    b = a * 31 + b - 32
    b = a * 32 + b - 33
    b = a * 33 + b - 34
    b = a * 34 + b - 35
    b = a * 35 + b - 36
    b = a * 36 + b - 37
    b = a * 37 + b - 38
    b = a * 38 + b - 39
    b = a * 39 + b - 40
    raise ValueError(b)


assert len(long.__code__.co_code) > 256
for n in range(100):
    long(n)
for n in range(50):
    early(n)
for n in range(11):
    assert len(list(late_yield(n))) == 2
for n in range(5):
    try:
        late_raise(n)
    except ValueError:
        pass
