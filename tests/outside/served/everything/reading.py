"""What the conformance suite reads and ours has not: a picture, prompts, completions.

Knows the addresses, names and texts that the suite asks for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from everything import rounds
from everything.contents import PIXEL, Context, enclosed, picture

Handler = Callable[[Any, Any], Awaitable[Any]]

_PICTURE = "test://static-binary"


def list_resources(ours: Handler) -> Handler:
    one = types.Resource(uri=_PICTURE, name="static-binary", description="to be read", mime_type="image/png")

    async def listed(context: Context, params: types.PaginatedRequestParams) -> types.ListResourcesResult:
        found = await ours(context, params)
        return found.model_copy(update={"resources": [*found.resources, one]})

    return listed


def read_resource(ours: Handler) -> Handler:
    """Ours are texts; the suite wants a picture too."""

    async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri != _PICTURE:
            return await ours(context, params)
        content = types.BlobResourceContents(uri=_PICTURE, mime_type="image/png", blob=PIXEL)
        return types.ReadResourceResult(contents=[content])

    return read


async def set_level(_: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def list_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description="to be asked for",
                arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, arguments in _PROMPTS.items()
        ]
    )


async def get_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return _messages(_words("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            return _messages(_words(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"))
        case "test_prompt_with_embedded_resource":
            document = enclosed(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
            return _messages(document, _words("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return _messages(picture(), _words("Please analyze the image above."))
        case "test_input_required_result_prompt":
            return await rounds.prompt(context, params)
        case other:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {other}")


async def complete(_: Context, __: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park"], total=2, has_more=False))


_PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


def _words(text: str) -> types.TextContent:
    return types.TextContent(text=text)


def _messages(*contents: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content) for content in contents])
