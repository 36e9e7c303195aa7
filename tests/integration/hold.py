"""A service in miniature for the tests of the embedded server: own or borrow it, say so, hold it until told to go."""

import sys
from pathlib import Path

import psycopg

from ingatan.errors import IngatanError
from ingatan.storage import embedded

how, directory = sys.argv[1:3]
try:
    server = getattr(embedded, how)(Path(directory))
except IngatanError as error:
    sys.stdout.write(f"{error.code} {error}\n")
    sys.exit(2)
with server, psycopg.connect(server.url(embedded.OWNER), autocommit=True) as driver:
    driver.execute("create table if not exists kept (x int)")
    driver.execute("insert into kept values (1)")
    kept = driver.execute("select count(*) from kept").fetchall()[0][0]
    sys.stdout.write(f"{'owned' if server.owned else 'borrowed'} {server.process_id} {kept}\n")
    sys.stdout.flush()
    sys.stdin.readline()
