#!/bin/sh
printf 'def last(items):\n    return items[-1]\n' > tail.py
printf 'from tail import last\nassert last([1, 2]) == 2\n' > test_good.py
printf 'import tail\nassert callable(tail.last)\n' > test_blind.py
