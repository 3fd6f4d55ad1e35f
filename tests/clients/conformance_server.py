"""A stdio server of the official Python SDK with the tools that the conformance suite asks for."""

import asyncio

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

IMAGE = types.ImageContent(type="image", data=PNG, mime_type="image/png")
AUDIO = types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")


def text(words):
    return types.TextContent(type="text", text=words)


def resource(uri, mime_type, words):
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=contents)


CONTENT = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "test_error_handling": [text("This tool intentionally returns an error for testing")],
    "test_tool_with_progress": [text("done")],
    "json_schema_2020_12_tool": [text("ok")],
    "test_trigger_tool_change": [text("changed")],
}

# Hears of changes in the era of 2026-07-28; sessions of the other hear by themselves.
bus = InMemorySubscriptionBus()
added = []


async def list_tools(_context, _params):
    schemas = {name: {"type": "object"} for name in CONTENT} | {"json_schema_2020_12_tool": SCHEMA_2020_12}
    tools = [types.Tool(name=name, description=f"Of the suite: {name}", input_schema=schemas[name]) for name in schemas]
    tools += [types.Tool(name=name, description="Came later", input_schema={"type": "object"}) for name in added]
    return types.ListToolsResult(tools=tools)


async def call_tool(context, params):
    if params.name not in CONTENT:
        return types.CallToolResult(content=[text(f"no tool {params.name}")], is_error=True)
    if params.name == "test_tool_with_progress":
        for progress in (0, 50, 100):
            await context.session.report_progress(progress, 100)
            await asyncio.sleep(0.05)
    if params.name == "test_trigger_tool_change":
        added.append(f"added_{len(added)}")
        await bus.publish(ToolsListChanged())
        await context.session.send_tool_list_changed()
    return types.CallToolResult(content=CONTENT[params.name], is_error=params.name == "test_error_handling")


async def main():
    handlers = {"on_list_tools": list_tools, "on_call_tool": call_tool, "on_subscriptions_listen": ListenHandler(bus)}
    server = Server("conformance", version="1", **handlers)
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, options)


if __name__ == "__main__":
    asyncio.run(main())
