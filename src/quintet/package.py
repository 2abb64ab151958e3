"""Where Quintet's own files lie."""

import os

FOLDER = os.path.dirname(os.path.realpath(__file__))
INSTALLED = "site-packages" in FOLDER  # not a source tree that somebody works on
