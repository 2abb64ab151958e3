#!/bin/sh
sort work/found.txt | diff - hidden/places.txt
