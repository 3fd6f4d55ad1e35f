"""One client session outlives its server: listed, called, cancelled, killed, listed, called."""

import asyncio
import os
import signal
import time

import pytest

from drivers import FastMcpClient, OfficialClient
from running import EVERYTHING, NODE, EverythingOverHttp, Sidecar

# Long enough to look at the outage, shorter than the default `hold`, so that a call in the outage waits and succeeds.
DELAY = 2.0
RECONNECT = f'[reconnect]\ninitial_delay = "{DELAY}s"\njitter = false\n'

LONG = "everything__trigger-long-running-operation"
ECHO = "everything__echo"


class OverStdio:
    """server-everything as a child of the sidecar."""

    def __init__(self, _directory):
        self.table = f'[servers.everything]\ncommand = "{NODE}"\nargs = ["{EVERYTHING}", "stdio"]\n'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def kill(self, sidecar):
        os.kill(sidecar.server("everything")["pid"], signal.SIGKILL)

    def bring_back(self):
        """The sidecar does."""


class OverHttp:
    """server-everything at a port, started by somebody else."""

    def __init__(self, directory):
        self.server = EverythingOverHttp(directory)
        self.table = f'[servers.everything]\nurl = "{self.server.url}"\n'

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *reason):
        self.server.__exit__(*reason)

    def kill(self, _sidecar):
        self.server.kill()

    def bring_back(self):
        self.server.start()


@pytest.mark.parametrize("transport", [OverStdio, OverHttp])
@pytest.mark.parametrize(
    ("client", "mode", "protocol"),
    [
        (OfficialClient, "auto", "2026-07-28"),
        (OfficialClient, "legacy", "2025-11-25"),
        (FastMcpClient, "auto", "2026-07-28"),
        (FastMcpClient, "legacy", "2025-11-25"),
    ],
)
def test_a_session_goes_on_when_its_server_is_killed(tmp_path, transport, client, mode, protocol):
    async def session(upstream, sidecar):
        before = sidecar.wait_for_server("everything", "established", lambda s: s["state"] == "established")
        raw_before = sidecar.list_bytes()
        async with client(sidecar.url, mode) as agent:
            assert agent.protocol == protocol
            tools_before = await agent.tools()
            assert ECHO in tools_before and LONG in tools_before
            assert "hello" in await agent.call(ECHO, {"message": "hello"})
            await calls_with_progress(agent)
            await cancels(agent)

            upstream.kill(sidecar)
            sidecar.wait_for_server("everything", "waiting for its attempt", lambda s: s["state"] == "waiting")
            assert sidecar.list_bytes() == raw_before, "the raw list during the outage"
            assert await agent.tools() == tools_before, "the client's list during the outage"
            held = asyncio.create_task(agent.call(ECHO, {"message": "held"}))
            upstream.bring_back()
            assert "held" in await held

            after = sidecar.wait_for_server("everything", "established", lambda s: s["state"] == "established")
            assert after["generation"] == before["generation"] + 1
            assert sidecar.list_bytes() == raw_before, "the raw list after the recovery"
            assert await agent.tools() == tools_before, "the client's list after the recovery"
            assert "again" in await agent.call(ECHO, {"message": "again"})
            await calls_with_progress(agent)

    with transport(tmp_path) as upstream, Sidecar(tmp_path, RECONNECT + upstream.table) as sidecar:
        asyncio.run(session(upstream, sidecar))


async def calls_with_progress(agent):
    seen = []

    async def progress(done, total, _message):
        seen.append((done, total))

    answer = await agent.call(LONG, {"duration": 0.5, "steps": 5}, progress)
    assert "completed" in answer
    assert seen == [(step, 5) for step in range(1, 6)], "each step, once, in order, before the answer"


async def cancels(agent):
    started = time.monotonic()
    first_step = asyncio.Event()

    async def progress(_done, _total, _message):
        first_step.set()

    call = asyncio.create_task(agent.call(LONG, {"duration": 60, "steps": 600}, progress))
    await asyncio.wait_for(first_step.wait(), 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert "next" in await agent.call(ECHO, {"message": "next"})
    assert time.monotonic() - started < 30, "nobody waited for the cancelled call"
