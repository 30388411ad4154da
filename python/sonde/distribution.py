"""What importlib.metadata is told of sonde in a program that sonde runs, where it is not installed: pytest
finds the plugin by it."""

import importlib.metadata
import os
import pathlib
import sys

import sonde

_FILES = {
    "METADATA": "Metadata-Version: 2.1\nName: sonde\nVersion: {}\n",
    "entry_points.txt": "[pytest11]\nsonde = sonde.pytest_plugin\n",
}


class _Distribution(importlib.metadata.Distribution):
    def read_text(self, filename):
        text = _FILES.get(filename)
        return text and text.format(sonde.__version__)

    def locate_file(self, path):
        return pathlib.Path(os.path.dirname(os.path.dirname(sonde.__file__)), path)


def find(context=None):
    """The distributions of that name; see importlib.metadata.DistributionFinder."""
    # pytest refuses a plugin that it was given by its module's name before (-p sonde.pytest_plugin).
    is_asked = getattr(context, "name", None) in {None, "sonde"} and "sonde.pytest_plugin" not in sys.modules
    return [_Distribution()] if is_asked else []
