#!/bin/sh
# Those that the script finds fault with are exactly the bad ones.
sed 's|^messages/||; s|\.txt:.*||' work/found.txt | sort -u | diff - hidden/wrong.txt
