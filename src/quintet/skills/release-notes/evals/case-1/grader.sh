#!/bin/sh
sed 's| ([0-9a-f]*)$||' work/found.txt | diff - hidden/wanted.md
