"""The command `azure-ai-search-emulator`: serve until it is stopped, and say how a client reaches it."""

import argparse
import secrets
import signal
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from types import FrameType

from .certificates import HOSTS, write_certificate
from .faults import Faults, parse_fault
from .rewriting import WordRewriter
from .service import SearchService
from .serving import LOOPBACK, build_server
from .word_ranker import WordRanker

CERTIFICATE_FOLDER = "certificate"  # below the data folder


def main(arguments: list[str] | None = None) -> int:
    given = _build_parser().parse_args(arguments)
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as scratch:
        signal.signal(signal.SIGTERM, _stop)
        _serve(given, Path(scratch))
    return 0


def _stop(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("azure-ai-search-emulator", description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--host", default=LOOPBACK, help="0.0.0.0 in a container (default: %(default)s)")
    parser.add_argument("--https", action="store_true", help="serve by https, with a certificate signed by itself")
    parser.add_argument("--name", action="append", default=[], help="a further host name in the certificate")
    parser.add_argument("--data", type=Path, help="keep indexes in this folder; without it they are in memory")
    parser.add_argument("--key", action="append", default=[], help="an admin key; made anew when none is given")
    parser.add_argument("--query-key", action="append", default=[], help="a key that reads documents only")
    parser.add_argument("--token", action="append", default=[], help="a bearer token; the admin keys are ones too")
    parser.add_argument("--no-semantic", action="store_true", help="refuse semantic queries, as a service without")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds until a search finds what was written")
    parser.add_argument(
        "--fault", action="append", default=[], type=parse_fault, help="OPERATION:STATUS[:SHARE], as search:503:0.1"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the faults: the same seed fails the same requests")
    return parser


def _serve(given: argparse.Namespace, scratch: Path) -> None:
    keys = given.key or [secrets.token_urlsafe(24)]
    folder = (given.data or scratch) / CERTIFICATE_FOLDER
    certificate = write_certificate(folder, (*HOSTS, *given.name)) if given.https else None
    service = SearchService(
        given.data,
        keys=keys,
        query_keys=given.query_key,
        tokens=[*keys, *given.token],
        reranker=None if given.no_semantic else WordRanker(),
        rewriter=WordRewriter(),
        faults=Faults(given.fault, given.seed),
        delay_s=given.delay,
    )
    with closing(service):
        server = build_server(service, host=given.host, port=given.port, certificate=certificate)
        print(f"Endpoint:    {'https' if certificate else 'http'}://localhost:{server.port}")
        print(f"Key:         {keys[0]}")
        if certificate:
            print(f"Certificate: {certificate[0].resolve()}")
            print(
                "  Python: SSL_CERT_FILE and REQUESTS_CA_BUNDLE, or connection_verify=PATH; Node: NODE_EXTRA_CA_CERTS"
            )
            print(certificate[0].read_text("ascii"), end="")
        print("Press Ctrl-C to stop.", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
