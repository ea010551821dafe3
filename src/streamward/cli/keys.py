"""`streamward keys`: the keys that seal camera credentials."""

import sys

from streamward.cli.options import AsJson, group

app = group("Changes the keys that seal camera credentials.")


@app.command()
def rotate(*, as_json: AsJson = False) -> None:
    """Seal every camera's credential with a new master key, while control planes run.

    Can be cut and run again. Exits with 1 if a credential could not be opened.
    """
    import asyncio
    import json

    from streamward.control.app import rotate_keys
    from streamward.settings import load

    done = asyncio.run(rotate_keys(load()))
    if as_json:
        print(json.dumps({"sealed": done.sealed, "unreadable": list(done.unreadable)}))
    else:
        print(f"sealed {done.sealed} credentials with the newest key")
        for camera_id in done.unreadable:
            print(f"the credential of camera {camera_id} cannot be opened: give it again")
    sys.exit(1 if done.unreadable else 0)
