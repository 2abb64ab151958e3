VERSION = "2.0"


def pour(*, count, with_milk=False):
    return [(n, with_milk) for n in range(count)]
