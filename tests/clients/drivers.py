"""The clients of other people, as one narrow interface: list, call, call with progress."""

import json

import fastmcp
import mcp


class OfficialClient:
    """PyPI `mcp`. Its response cache is off, or it would answer lists by itself."""

    def __init__(self, url, mode):
        self.client = mcp.Client(url, mode=mode, cache=None)

    async def __aenter__(self):
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *reason):
        await self.client.__aexit__(*reason)

    @property
    def protocol(self):
        return self.client.protocol_version

    async def tools(self):
        """All definitions, as one text."""
        listed = await self.client.list_tools()
        return _text(listed.tools)

    async def call(self, tool, arguments, progress=None):
        """The text of the result; an error result is an exception."""
        result = await self.client.call_tool(tool, arguments, progress_callback=progress)
        text = result.content[0].text
        assert not result.is_error, text
        return text


class FastMcpClient:
    """PyPI `fastmcp`."""

    def __init__(self, url, mode):
        self.client = fastmcp.Client(url, mode=mode, cache=False)

    async def __aenter__(self):
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *reason):
        await self.client.__aexit__(*reason)

    @property
    def protocol(self):
        return self.client.protocol_version

    async def tools(self):
        """All definitions, as one text."""
        return _text(await self.client.list_tools())

    async def call(self, tool, arguments, progress=None):
        """The text of the result; an error result is an exception."""
        result = await self.client.call_tool(tool, arguments, progress_handler=progress)
        return result.content[0].text


def _text(tools):
    return json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
