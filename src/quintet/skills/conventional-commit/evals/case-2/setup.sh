#!/bin/sh
printf 'def greet(name):\n    return "Hello, " + name.strip()\n' > greet.py
echo "private" > notes.tmp
