"""M4 Review's engine: everything that is not a window.

Nothing below this package may import Qt; the same code serves the desktop
application, the headless command line and campaigns.
"""

__version__ = "0.1.0"
