from teapot import pour


def party():
    return pour(3, True)
