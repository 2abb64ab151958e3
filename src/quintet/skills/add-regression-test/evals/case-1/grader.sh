#!/bin/sh
grep -q '^with the fix it passes' work/good.txt && grep -q '^it passes without the fix' work/blind.txt
