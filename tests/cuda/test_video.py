#!/usr/bin/env python3
"""Video units are not served: their libraries cannot be loaded, whatever this machine has behind ours, and say why."""
import ctypes
import os
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))

import harness  # noqa: E402

LIBRARIES = os.path.join(harness.build(), "lib", "aitherion")


@unittest.skipUnless(harness.copies_alone(), "this Python cannot load a library of another processor")
class Video(unittest.TestCase):
    def test_no_library_is_loaded(self):
        for name in ("libnvcuvid.so.1", "libnvcuvid.so", "libnvidia-encode.so.1", "libnvidia-encode.so"):
            for mode in (os.RTLD_LAZY, os.RTLD_NOW):
                with self.subTest(name, mode=mode), self.assertRaisesRegex(OSError, "aitherion_serves_no_video_units"):
                    ctypes.CDLL(os.path.join(LIBRARIES, name), mode=mode)


if __name__ == "__main__":
    harness.main()
