#!/usr/bin/env python3
"""Handles orders behind HTTP, on the loopback: one POST per message, whose
answer is the verdict. PORT is 8080 unless it is set."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DONE, PARK, HOLD, RETRY = 204, 422, 503, 500


def charge(body, lap):
    """Returns the verdict on an order, and why.

    The bank declines what is below zero, and is down when it is first asked
    for a large amount.
    """
    try:
        order = json.loads(body)
        number, amount = order["id"], float(order["amount"])
    except (ValueError, KeyError, TypeError) as err:
        return PARK, f"no order: {err}"  # it will never be one
    if amount < 0:
        return RETRY, f"order {number}: the card was declined"
    if amount > 1000 and lap == 0:
        return HOLD, f"order {number}: the bank does not answer"  # nothing is wrong with it
    return DONE, ""


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # the sidecar keeps its connections
    wbufsize = -1  # head and body of an answer in one packet

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, text = charge(body, int(self.headers.get("Holdfast-Lap", 0)))
        self.send_response(status)
        if self.headers.get("Holdfast-Header-Test") == "true":
            self.send_header("Holdfast-Verdict", "discard")  # no status says this
        if text:
            self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass  # the sidecar logs what becomes of each message


if __name__ == "__main__":
    port = int(os.environ.get("PORT", "8080"))
    with ThreadingHTTPServer(("127.0.0.1", port), Orders) as server:
        print(f"orders are handled at http://127.0.0.1:{port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass  # Ctrl-C is how it ends
