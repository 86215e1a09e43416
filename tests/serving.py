"""Run the explorer's server beside a test, a benchmark or a camera."""

import threading
import time


def start(explorer):
    """Serve on another thread, and return it once there is a session."""
    thread = threading.Thread(target=explorer.run, daemon=True)
    thread.start()
    while not (explorer.server.started and hasattr(explorer, "session")) and thread.is_alive():
        time.sleep(0.01)
    return thread
